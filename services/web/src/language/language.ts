import type { ApiError } from '@gatehouse/client'
import type { RefusalCode } from '@gatehouse/contracts'
import { limitMarks } from '@gatehouse/contracts/constants'
import { recall, remember } from '../browser-storage.ts'
import englishTexts from './english-texts.json' with { type: 'json' }

/** `texts`: the app's. `answers`: the client library's. `refusals`: the server's, by their codes. */
const loadGerman = async () => complete((await import('./german.json', { with: { type: 'json' } })).default)
/** What the server and the client library say is written for programs. */
const loadEnglish = async () => complete((await import('./english.json', { with: { type: 'json' } })).default)

/** A refusal that a catalogue lacks is a type error. */
const complete = <C extends { refusals: Readonly<Record<RefusalCode, string>> }>(catalogue: C): C => catalogue

/**
 * The key of a text of the app: its English, unless english-texts.json has a newer one. One that the German catalogue lacks
 * is a type error.
 */
export type Text = keyof Awaited<ReturnType<typeof loadGerman>>['texts']
export type Values = Readonly<Record<string, string | number>>

export const languages = { en: 'English', de: 'Deutsch' }
export type Language = keyof typeof languages

const storageKey = 'gatehouse_language'
let current: Language = 'en'
/** Chosen last. Its texts may still be loading. */
let latest: Language = 'en'
let catalogue: Readonly<Record<string, string>> = englishTexts
let refusalTexts: Partial<Record<RefusalCode, string>> = {}
const listeners = new Set<() => void>()

export const currentLanguage = (): Language => current

/** Returns a function that ends it. */
export function onLanguageChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export async function chooseLanguage(language: Language): Promise<void> {
  remember(storageKey, language)
  await loadLanguage(language)
}

/** By default the one chosen before, else the browser's. English is shown at once: only its refusals are loaded. */
export async function loadLanguage(
  language = findLanguage([recall(storageKey) ?? '', ...navigator.languages]),
): Promise<void> {
  latest = language
  if (language === 'de') {
    const german = await loadGerman()
    if (latest === language) show(language, german)
    return
  }
  show(language, english)
  const { answers, refusals } = await loadEnglish()
  if (latest === language) apply({ ...english, answers, refusals })
}

type Catalogue = {
  texts: Readonly<Record<string, string>>
  answers: Readonly<Record<string, string>>
  refusals: Partial<Record<RefusalCode, string>>
}
const english: Catalogue & { direction: string } = { direction: 'ltr', texts: englishTexts, answers: {}, refusals: {} }

function apply({ texts, answers, refusals }: Catalogue): void {
  catalogue = { ...texts, ...answers }
  refusalTexts = refusals
}

function show(language: Language, { direction, ...texts }: Catalogue & { direction: string }): void {
  apply(texts)
  current = language
  document.documentElement.lang = language
  document.documentElement.dir = direction
  for (const listener of [...listeners]) listener()
}

/** The first of these tags (`de-AT`) that the app has, else English. */
export function findLanguage(wanted: readonly string[]): Language {
  const isKnown = (tag: string): tag is Language => Object.hasOwn(languages, tag)
  return wanted.map((tag) => tag.slice(0, 2).toLowerCase()).find(isKnown) ?? 'en'
}

/** The values go to the places of their `{names}`. */
export function t(text: Text, values: Values = {}): string {
  return translate(text).replace(/\{(\w+)\}/g, (_, name: string) => isolate(formatName(String(values[name] ?? ''))))
}

/** Without directional controls, and with at most four marks on a character. Contract: 3, names in a line. */
export function formatName(name: string): string {
  return limitMarks(name.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ''))
}

/** Isolates a value that is written from right to left. */
export function isolate(value: string): string {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(value) ? `\u2068${value}\u2069` : value
}

/** A text of the server or of the client library. */
export const translate = (text: string): string => catalogue[text] ?? text

/** The server's own text stands for an unknown code. */
export function translateRefusal({ fields, message }: Pick<ApiError, 'fields' | 'message'>): string {
  const text = refusalTexts[fields['code'] as RefusalCode] ?? translate(message)
  const said = fields[fields['code'] === 'account_suspended' ? 'reason' : 'answer']
  return typeof said === 'string' ? `${text.replace(/\.$/, '')}: ${formatName(said)}` : text
}
