// npm run licenses: prints the packages with their licenses, and fails if a license is not accepted. With --check it prints only those.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'
import { reportFault } from '../write-page.ts'

type LockedPackage = { name: string; version: string; license: string; isDelivered: boolean }

type LockEntry = { version?: string; license?: string; link?: boolean; dev?: boolean; devOptional?: boolean }

/** Free use, as a service too, with nothing to do but naming them. The LGPL is that of libvips, a library of its own. */
const acceptedLicenses: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'LGPL-3.0-or-later',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'PSF-2.0',
  'Unlicense',
])

export function readLock(text: string): LockedPackage[] {
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry> }
  const byKey = new Map<string, LockedPackage>()
  for (const [path, entry] of Object.entries(packages)) {
    const name = /(?<=node_modules\/)(?!.*node_modules\/).+/.exec(path)?.[0]
    if (name === undefined || entry.link) continue
    const isDelivered = !entry.dev && !entry.devOptional
    const version = entry.version ?? ''
    const same = byKey.get(`${name} ${version}`)
    const license = entry.license ?? 'unknown'
    byKey.set(`${name} ${version}`, { name, version, license, isDelivered: isDelivered || same?.isDelivered === true })
  }
  return [...byKey.values()].toSorted((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
}

export const readLockedPackages = (): LockedPackage[] => readLock(readFileSync(join(root, 'package-lock.json'), 'utf8'))

/** Of alternatives one is enough. */
export function findUnaccepted(packages: readonly LockedPackage[]): string[] {
  const unaccepted = packages.filter(({ license }) => !isAccepted(license))
  return unaccepted.map(({ name, version, license }) => `${name} ${version} has the license ${license}`)
}

/** The text of THIRD-PARTY-LICENSES.txt in a release. */
export function writeLicenses(packages: readonly LockedPackage[]): string {
  const delivered = packages.filter(({ isDelivered }) => isDelivered)
  const development = packages.filter(({ isDelivered }) => !isDelivered)
  return `The packages in package-lock.json and the licenses that they state. Packages for other platforms are included.

Part of an instance (${delivered.length})

${listLicenses(delivered)}

For development only (${development.length})

${listLicenses(development)}
`
}

function isAccepted(license: string): boolean {
  const terms = license.replace(/[()]/g, '')
  if (terms.includes(' OR ')) return terms.split(' OR ').some(isAccepted)
  return terms.split(' AND ').every((term) => acceptedLicenses.has(term))
}

const listLicenses = (packages: readonly LockedPackage[]): string =>
  packages.map(({ name, version, license }) => `${name} ${version}: ${license}`).join('\n')

/** The same order on each machine. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

if (import.meta.main) {
  const packages = readLockedPackages()
  for (const fault of findUnaccepted(packages)) reportFault(fault)
  if (!process.argv.includes('--check')) process.stdout.write(writeLicenses(packages))
}
