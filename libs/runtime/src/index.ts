import root from '../../../package.json' with { type: 'json' }

export * from './background.ts'
export * from './coalesce.ts'
export * from './disk-full.ts'
export * from './entry-limit.ts'
export * from './time.ts'
export * from './fair-queue.ts'
export * from './periodic-task.ts'
export * from './printable.ts'
export * from './quota.ts'
export * from './random.ts'
export * from './refusal.ts'
export * from './share-work.ts'
export * from './slots.ts'
export * from './tracing.ts'

export const version: string = root.version

/** Negative where `one` is the earlier release. */
export function compareVersions(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
