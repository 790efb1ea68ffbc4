export type Theme = 'light' | 'dark'

// public/theme.js reads the same key before the first paint.
const key = 'gatehouse_theme'

/** The theme in force: the person's own choice, else what the system prefers. */
export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset['theme']
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

/** Sets the theme and remembers it; when storage is refused the choice lasts as long as the page. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  try {
    localStorage.setItem(key, theme)
  } catch {
    return
  }
}
