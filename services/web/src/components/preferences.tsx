import { useState, useSyncExternalStore } from 'react'
import { remember } from '../browser-storage.ts'
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
      {Object.entries(languages).map(([key, name]) => (
        <option key={key} value={key} lang={key}>
          {name}
        </option>
      ))}
    </select>
  )
}

export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme)
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={other === 'dark' ? t('Switch to dark theme') : t('Switch to light theme')}
      onClick={() => {
        document.documentElement.dataset['theme'] = other
        // public/theme.js reads it before the first paint.
        remember('gatehouse_theme', other)
        setTheme(other)
      }}
    />
  )
}

function currentTheme(): 'light' | 'dark' {
  const chosen = document.documentElement.dataset['theme']
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}
