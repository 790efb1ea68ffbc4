import compatData from '@mdn/browser-compat-data' with { type: 'json' }
import type { Identifier, SimpleSupportStatement, SupportStatement } from '@mdn/browser-compat-data'
import { supportedBrowsers } from './supported-browsers.ts'

const { chrome, edge, firefox, safari, ios } = supportedBrowsers
const oldest = { chrome, edge, firefox, safari, chrome_android: chrome, firefox_android: firefox, safari_ios: ios }
const browsers = Object.keys(oldest) as Array<keyof typeof oldest>

/** What a script can name and one of the oldest browsers lacks: `navigation`, `URL.parse`, `Intl.Locale.variants`. */
export function listNewerApis(): ReadonlySet<string> {
  const { api, javascript } = compatData
  const names = [...listNewer(api, 2), ...listNewer(javascript['builtins'] ?? {}, 3)]
  return new Set(names.map((name) => name.replace(/^Window\./, '')))
}

/** Properties of styles, which a browser that lacks them ignores. The build adds prefixes. */
export function listNewerStyles(): string[] {
  const properties = Object.entries<Identifier>(compatData.css['properties'] ?? {})
  return properties.filter(([, property]) => isNewer(property, true)).map(([name]) => name)
}

/** Deeper entries are about parameters, and so are those with an underscore, but for `_static`. */
function listNewer(entries: Identifier, depth: number, owner = ''): string[] {
  return Object.entries<Identifier>(entries).flatMap(([key, entry]) => {
    const name = key.replace(/_static$/, '')
    const isConstructor = owner.endsWith(`${name}.`)
    if (!/^[a-z][a-z\d]*$/i.test(name) || isConstructor) return []
    const below = depth > 1 ? listNewer(entry, depth - 1, `${owner}${name}.`) : []
    return isNewer(entry) ? [owner + name, ...below] : below
  })
}

function isNewer({ __compat: facts }: Identifier, mayHavePrefix = false): boolean {
  return !!facts && !browsers.every((browser) => has(facts.support[browser], oldest[browser], mayHavePrefix))
}

/** Partly counts: it is there. */
function has(support: SupportStatement | undefined, version: string, mayHavePrefix: boolean): boolean {
  return [support ?? []].flat().some((statement: SimpleSupportStatement) => {
    const { version_added: added, version_removed: removed, flags, prefix, alternative_name: otherName } = statement
    if (flags || otherName || (prefix && !mayHavePrefix)) return false
    return isReached(added, version) && !isReached(removed, version)
  })
}

const isReached = (since: string | false | undefined, version: string): boolean =>
  typeof since === 'string' && Number.parseFloat(since.replace('≤', '')) <= Number.parseFloat(version)
