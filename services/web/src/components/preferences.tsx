import { useState, useSyncExternalStore } from 'react'
import { chooseLanguage, currentLanguage, type Language, languages, onLanguageChange, t } from '../language/language.ts'
import { IconButton } from './button.tsx'

export function LanguageSelect() {
  const language = useSyncExternalStore(onLanguageChange, currentLanguage)
  return (
    <select
      className="language-select"
      name="language"
      id="language"
      aria-label={t('Language')}
      value={language}
      onChange={(event) => void chooseLanguage(event.target.value as Language)}
    >
      {languages.map(([key, name]) => (
        <option key={key} value={key} lang={key}>
          {name}
        </option>
      ))}
    </select>
  )
}

type Theme = 'light' | 'dark'

// public/theme.js reads the same key before the first paint.
const storageKey = 'gatehouse_theme'

export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme)
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={other === 'dark' ? t('Switch to dark theme') : t('Switch to light theme')}
      onClick={() => {
        saveTheme(other)
        setTheme(other)
      }}
    />
  )
}

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset['theme']
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

/** A browser that refuses storage keeps the theme until the page is closed. */
function saveTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  try {
    localStorage.setItem(storageKey, theme)
  } catch {
    return
  }
}
