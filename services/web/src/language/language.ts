import type { ApiError } from '@gatehouse/client'
import type { german } from './german.ts'

/** A text of the app, in English. The catalogue has it in the other languages: one that it lacks is a type error. */
export type Text = keyof typeof german
export type Language = 'en' | 'de'

/** Each language by its own name. */
export const languages: ReadonlyArray<readonly [language: Language, name: string]> = [
  ['en', 'English'],
  ['de', 'Deutsch'],
]

const storageKey = 'gatehouse_language'
let current: Language = 'en'
let catalogue: Readonly<Record<string, string>> = {}
let refusalTexts: Readonly<Record<string, string>> = {}
const listeners = new Set<() => void>()

export function currentLanguage(): Language {
  return current
}

/** Calls `listener` after each change of the language; returns a function that ends it. */
export function onLanguageChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Loads a language and shows everything in it. The choice is kept in this browser, where it allows that. */
export async function chooseLanguage(language: Language): Promise<void> {
  try {
    localStorage.setItem(storageKey, language)
  } catch {
    // The browser refuses storage: the choice holds until the page is closed.
  }
  await loadLanguage(language)
}

/** Loads a language: the one chosen before, else the first of the browser's that there is, else English. */
export async function loadLanguage(language: Language = preferredLanguage()): Promise<void> {
  const german = () =>
    Promise.all([import('./german.ts'), import('./german-answers.ts'), import('./german-refusals.ts')])
  const loaded = language === 'de' ? await german() : null
  catalogue = loaded ? { ...loaded[0].german, ...loaded[1].germanAnswers } : {}
  refusalTexts = loaded ? loaded[2].germanRefusals : {}
  current = language
  document.documentElement.lang = language
  for (const listener of [...listeners]) listener()
}

function preferredLanguage(): Language {
  let chosen: string | null = null
  try {
    chosen = localStorage.getItem(storageKey)
  } catch {
    // As above.
  }
  return findLanguage([chosen ?? '', ...navigator.languages])
}

/** The first of these languages (`de-AT`, `en`) that the app has; English when it has none of them. */
export function findLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const found = languages.find(([language]) => language === tag.slice(0, 2).toLowerCase())
    if (found) return found[0]
  }
  return 'en'
}

/** A text in the current language, with the values in the places of their `{names}`. */
export function t(text: Text, values: Readonly<Record<string, string | number>> = {}): string {
  return translate(text).replace(/\{(\w+)\}/g, (_, name: string) => isolate(formatName(String(values[name] ?? ''))))
}

/** A name as a line shows it: nothing in it turns the line, and at most four marks stand on a character. Contract: 3. */
export function formatName(name: string): string {
  return name.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '').replace(/(\p{M}{4})\p{M}+/gu, '$1')
}

/** A value that is written from right to left, between marks that leave the text around it as it is. */
function isolate(value: string): string {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(value) ? `\u2068${value}\u2069` : value
}

/** A text that comes from the server, in the current language when the catalogue has it. */
export function translate(text: string): string {
  return catalogue[text] ?? text
}

/** What the server refused, in the current language by its code; its own text when the code is unknown. */
export function translateRefusal({ fields, message }: Pick<ApiError, 'fields' | 'message'>): string {
  const text = refusalTexts[String(fields['code'])] ?? translate(message)
  const { answer } = fields
  return typeof answer === 'string' ? `${text}: ${answer}` : text
}
