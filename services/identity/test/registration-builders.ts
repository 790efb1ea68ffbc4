import { BlockedNetwork, InstanceSettings, Registration, User } from '@gatehouse/domain'
import { buildUser } from './builders.ts'
import type { TestRequest } from '@gatehouse/test-kit'
import type { TestIdentity, TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

type Where = Pick<TestIdentity, 'deps'>
type Approval = Partial<
  Pick<InstanceSettings, 'approvalRequired' | 'askReason' | 'denialBlockHours' | 'firstAdminId' | 'registrationOpen'>
>

/** Sets approval as an admin would. */
export async function setApproval({ deps }: Where, settings: Approval): Promise<void> {
  await deps.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, settings)
}

/** An instance whose admin decides over registrations. */
export async function buildApprovingAdmin(identity: Where): Promise<User> {
  const admin = await buildUser(identity, { isAdmin: true })
  await setApproval(identity, { approvalRequired: true, firstAdminId: admin.id })
  return admin
}

let names = 0
export const freshName = () => `wants_${(names += 1)}`

export const register = async (
  identity: TestIdentity,
  given: object = {},
  request: Pick<TestRequest, 'headers' | 'address'> = {},
): Promise<TestResponse> =>
  await identity.call('POST', '/api/auth/register', {
    body: { username: freshName(), password: testPassword, ...given },
    ...request,
  })

/** A registration that waits: its row and its receipt. */
export async function buildRegistration(
  identity: TestIdentity,
  given: object = {},
  request: Pick<TestRequest, 'headers' | 'address'> = {},
) {
  const { body } = await register(identity, given, request)
  const { username, receipt } = body as { username: string; receipt: string }
  const { id } = await identity.deps.orm.em.fork().findOneOrFail(Registration, { username })
  return { id, username, receipt }
}

/** What the database holds of registrations now. */
export async function readRegistrations({ deps }: Where, where: Partial<Pick<Registration, 'id' | 'username'>> = {}) {
  return await deps.orm.em.fork().find(Registration, where, { orderBy: { id: 'asc' } })
}

export const countBlocks = async ({ deps }: Where) => await deps.orm.em.fork().count(BlockedNetwork, {})

/** How many have the name: accounts, and registrations that wait. */
export async function countHolders({ deps }: Where, username: string): Promise<[accounts: number, waiting: number]> {
  const em = deps.orm.em.fork()
  return [await em.count(User, { username }), await em.count(Registration, { username })]
}
