-- Ombud for Neovim 0.11 or newer. With this folder on the runtimepath, `vim.lsp.enable('ombud')` is all it takes.
return {
  cmd = { 'ombud', 'serve' },
  filetypes = {
    'python', 'typescript', 'typescriptreact', 'javascript', 'javascriptreact', 'go', 'rust', 'c', 'cpp', 'sh',
    'html', 'css', 'json', 'yaml', 'toml', 'markdown',
  },
  root_markers = { '.git', 'pyproject.toml', 'package.json', 'go.mod', 'Cargo.toml' },
}
