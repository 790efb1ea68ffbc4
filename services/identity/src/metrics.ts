import { isRefusal } from '@gatehouse/runtime'
import type { Metrics } from '@gatehouse/service-kit'

export type IdentityMetrics = ReturnType<typeof createIdentityMetrics>

export function createIdentityMetrics(metrics: Metrics) {
  const registrations = metrics.counter('gatehouse_registrations_total', 'Registrations by outcome', ['outcome'])
  const logins = metrics.counter('gatehouse_logins_total', 'Logins by outcome', ['outcome'])
  return {
    registration: counted(registrations, ({ created }: { created: boolean }) => (created ? 'created' : 'upgraded')),
    /** `healed`: the home instance verified the password. */
    login: counted(logins, ({ refreshed }: { refreshed: boolean }) => (refreshed ? 'healed' : 'accepted')),
  }
}

function counted<T>(counter: { inc(labels: { outcome: string }): void }, outcomeOf: (value: T) => string) {
  return async <R extends T>(result: Promise<R>): Promise<R> => {
    try {
      const value = await result
      counter.inc({ outcome: outcomeOf(value) })
      return value
    } catch (error) {
      counter.inc({ outcome: isRefusal(error) ? error.code : 'failed' })
      throw error
    }
  }
}
