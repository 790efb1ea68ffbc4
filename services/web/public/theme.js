// Runs before the first paint, so that the wrong theme is never shown. components/preferences.tsx stores the choice.
try {
  const theme = localStorage.getItem('gatehouse_theme')
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
} catch {
  // The browser refuses storage: the theme that the system prefers applies.
}
