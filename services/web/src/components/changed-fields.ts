/** The fields of `after` that differ. An edit that sends no more takes nothing back that was changed elsewhere meanwhile. */
export function changedFields<T extends object>(before: Readonly<Record<keyof T, unknown>>, after: T): Partial<T> {
  const changed = Object.entries(after).filter(([name, value]) => value !== before[name as keyof T])
  return Object.fromEntries(changed) as Partial<T>
}
