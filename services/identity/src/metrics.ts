import { isRefusal } from '@gatehouse/runtime'
import type { Metrics } from '@gatehouse/service-kit'
import type { LoggedIn } from './operations/credentials/log-in.ts'
import type { Registered } from './operations/registration/insert-account.ts'

/** Each waits for a result, counts its outcome, and passes it on. */
export type IdentityMetrics = {
  /** `created`, `upgraded`, or the code of the refusal. */
  registration(result: Promise<Registered>): Promise<Registered>
  /** `accepted`, `healed` (by the home instance), or the code of the refusal. */
  login(result: Promise<LoggedIn>): Promise<LoggedIn>
}

export function createIdentityMetrics(metrics: Metrics): IdentityMetrics {
  const registrations = metrics.counter('gatehouse_registrations_total', 'Registrations by outcome', ['outcome'])
  const logins = metrics.counter('gatehouse_logins_total', 'Logins by outcome', ['outcome'])
  return {
    registration: counted(registrations, ({ created }) => (created ? 'created' : 'upgraded')),
    login: counted(logins, ({ refreshed }) => (refreshed ? 'healed' : 'accepted')),
  }
}

function counted<T>(counter: { inc(labels: { outcome: string }): void }, outcomeOf: (value: T) => string) {
  return async (result: Promise<T>): Promise<T> => {
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
