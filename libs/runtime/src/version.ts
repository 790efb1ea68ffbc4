import root from '../../../package.json' with { type: 'json' }

export const version: string = root.version

/** Negative where `one` is the earlier release. */
export function compareVersions(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
