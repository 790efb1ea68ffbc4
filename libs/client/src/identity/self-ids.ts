/** The ids that are the own user, one for each instance that said `ready`. */
export type SelfIds = { add(id: string): void; has(id: string): boolean; clear(): void }

/** Filled from ready events, cleared on logout. Spec: Client session behaviour, identity helpers. */
export function createSelfIds(): SelfIds {
  const ids = new Set<string>()
  return { add: (id) => void ids.add(id), has: (id) => ids.has(id), clear: () => ids.clear() }
}
