import english from '../../services/web/src/language/english-texts.json' with { type: 'json' }
import type { Text } from '../../services/web/src/language/language.ts'

const newer: Readonly<Record<string, string>> = english

/** What a page shows in English for a key of its texts, with the values in their places. */
export function shown(key: Text, values: Readonly<Record<string, string | number>> = {}): string {
  return shownText(key).replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
}

/** As `shown`. What is no key stays as it is: a name, an address, a text of the server, a pattern. */
export function shownText<T extends string | RegExp>(text: T): T | string {
  return typeof text === 'string' ? (newer[text] ?? text) : text
}
