;;; eglot.el --- What somebody does in Emacs, without anybody -*- lexical-binding: t -*-

;;; Commentary:

;; emacs --batch -q -l eglot.el SNIPPET FILE OUTPUT
;;
;; SNIPPET is the configuration of the README, FILE a Python file in a project.  OUTPUT becomes a JSON object of what
;; was seen at each step, or of the error with which a step ended; tests/real/test_emacs.py asserts it.  Commands are
;; called as the keyboard calls them, where they can be without one.

;;; Code:

(require 'json)
(require 'cl-lib)
(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)
(require 'xref)

(defconst patience 90 "Seconds that a step may take.")
(defvar seen nil "What was seen so far: step and value, the last one first.")

(defun save-seen (output)
  "Write what was seen to OUTPUT."
  (let ((json-encoding-pretty-print t)
        (coding-system-for-write 'utf-8))
    (with-temp-file output (insert (json-encode (reverse seen))))))

(defmacro see (step &rest body)
  "Do BODY and keep its value as what was seen at STEP; an error is kept as its words."
  (declare (indent 1))
  `(push (cons ,step (condition-case problem
                         (progn ,@body)
                       (error (format "ERROR: %s" (error-message-string problem)))))
         seen))

(defun wait-for (what test)
  "Let messages come until TEST holds, and return its value; WHAT is said where it never does."
  (let ((deadline (+ (float-time) patience))
        value)
    (while (not (setq value (funcall test)))
      (when (> (float-time) deadline)
        (error "%s did not come within %d s" what patience))
      (accept-process-output nil 0.05))
    value))

(defun go-to (piece)
  "Put the cursor where | is in PIECE, which is in the buffer."
  (goto-char (point-min))
  (search-forward (string-replace "|" "" piece))
  (backward-char (- (length piece) 1 (string-search "|" piece))))

(defun shown ()
  "The diagnostics that the buffer shows, as lists of line and text."
  (mapcar (lambda (one)
            (list (line-number-at-pos (flymake-diagnostic-beg one)) (flymake-diagnostic-text one)))
          (flymake-diagnostics)))

(defun shows (words)
  "Whether the buffer shows a diagnostic with WORDS in it."
  (cl-some (lambda (one) (string-search words (cadr one))) (shown)))

(defun choose (title)
  "A `completing-read' that takes the first choice whose name begins with TITLE."
  (lambda (_prompt choices &rest _)
    (let ((names (mapcar (lambda (one) (if (consp one) (car one) one)) choices)))
      (or (cl-find-if (lambda (name) (string-prefix-p title name)) names)
          (error "%s is not among %s" title names)))))

(defun work-on (file)
  "Everything, on FILE."
  (see "connect"
    (find-file file)
    ;; `eglot-ensure' waits for the command loop, which a batch does not have.
    (run-hooks 'post-command-hook)
    (wait-for "the connection" #'eglot-current-server)
    (plist-get (eglot--server-info (eglot-current-server)) :name))
  (see "diagnostics"
    (flymake-start)
    (wait-for "basedpyright's diagnostic" (lambda () (shows "cannot be assigned")))
    (wait-for "ruff's diagnostic" (lambda () (shows "imported but unused")))
    (vconcat (shown)))
  (see "hover"
    (go-to "if fi|ts(")
    (let (said)
      (eglot-hover-eldoc-function (lambda (text &rest _) (setq said (or text "nothing"))))
      (wait-for "the hover" (lambda () said))
      (substring-no-properties said)))
  (see "definition"
    (go-to "if fi|ts(")
    (let ((found (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
      (vconcat (mapcar (lambda (one)
                         (let ((place (xref-item-location one)))
                           (list (file-name-nondirectory (xref-location-group place)) (xref-location-line place))))
                       found))))
  (see "completion"
    (go-to "return ship.len|")
    (completion-at-point)
    (buffer-substring-no-properties (line-beginning-position) (line-end-position)))
  (see "rename"
    (go-to "def mo|or(")
    (eglot-rename "berth")
    (go-to "def |berth(")
    (buffer-substring-no-properties (line-beginning-position) (line-end-position)))
  (see "code action"
    (go-to "|import os")
    (wait-for "ruff's diagnostic" (lambda () (shows "imported but unused")))
    ;; The last event says that the choice is made by name, not in a menu of the mouse.
    (let ((last-nonmenu-event ?\r))
      (cl-letf (((symbol-function 'completing-read) (choose "Ruff (F401): Remove unused import")))
        (eglot-code-actions (line-beginning-position) (line-end-position) nil t)))
    (wait-for "the edit" (lambda () (not (string-search "import os" (buffer-string)))))
    "applied")
  (see "format"
    (go-to "(ship:| Ship) -> str")
    (delete-char 1)
    (eglot-format-buffer)
    (go-to "(ship: |Ship) -> str")
    (buffer-substring-no-properties (line-beginning-position) (line-end-position)))
  (see "another language"
    (let ((server (eglot-current-server)))
      (with-current-buffer (find-file-noselect (expand-file-name "../moor.sh" (file-name-directory file)))
        (run-hooks 'post-command-hook)
        (wait-for "the connection" #'eglot-current-server)
        (if (eq server (eglot-current-server)) "the same Ombud" "another Ombud"))))
  (see "text" (buffer-substring-no-properties (point-min) (point-max)))
  (see "shutdown"
    (eglot-shutdown (eglot-current-server) nil 20)
    (wait-for "the end" (lambda () (null (eglot-current-server))))
    "ended"))

(let ((snippet (pop command-line-args-left))
      (file (pop command-line-args-left))
      (output (pop command-line-args-left)))
  (load snippet nil t t)
  (unwind-protect (work-on file)
    (save-seen output)
    (set-buffer-modified-p nil)))

;;; eglot.el ends here
