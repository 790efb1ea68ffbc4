// Runs before the first paint, so that a chosen theme never flashes the other one. src/theme.ts writes the choice.
try {
  const chosen = localStorage.getItem('gatehouse_theme')
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen
} catch {
  // Storage can be refused; the system's preference then decides.
}
