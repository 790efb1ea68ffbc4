import type { User } from '@gatehouse/domain'
import { answered, appCode } from '@gatehouse/test-kit'
import type { TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

export const path = '/api/users/@me/second-factor'
export const stepMs = 30_000

export type Authenticator = { codes: string[]; code(steps?: number): string }

/** What the person's app shows `steps` from now. */
export const appOf =
  ({ clock }: Pick<TestIdentity, 'clock'>, secret: unknown) =>
  (steps: number) =>
    appCode(String(secret), clock.now(), steps)

/** Turns the account's factor on. The code of this step is used up. */
export async function turnOn(identity: TestIdentity, as: User): Promise<Authenticator> {
  const begun = await answered(identity.call('POST', path, { as, body: { password: testPassword } }))
  const app = appOf(identity, begun.body['secret'])
  const confirmed = await answered(identity.call('POST', `${path}/confirm`, { as, body: { code: app(0) } }))
  return { codes: confirmed.body['recoveryCodes'] as string[], code: (steps = 1) => app(steps) }
}
