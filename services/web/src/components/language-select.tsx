import { useSyncExternalStore } from 'react'
import { chooseLanguage, currentLanguage, type Language, languages, onLanguageChange, t } from '../language/language.ts'

/** The language of the app, each by its own name. */
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
