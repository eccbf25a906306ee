"""The tests of Ombud and the instruments they are made with."""
