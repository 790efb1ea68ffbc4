import { baseUsername, fitsHash } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { changeRows } from '@gatehouse/database'
import { OutboundFailure } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'

type Given = { password: string; requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'log' | 'hasher' | 'outbound' | 'config'>

/**
 * Asks a federated user's home whether a password that does not fit here is right there, and if so keeps its hash from
 * now on. Tokens stay valid: it is the same password that the user has had at home. Gives the hash that the password
 * fits. Throws credentials_wrong, hashing_busy. Spec: Login 5.
 */
export async function healPassword(deps: Needs, user: User, given: Given): Promise<string> {
  const { log, hasher } = deps
  // bcrypt would read only its beginning, whatever the home instance says.
  if (!fitsHash(given.password)) throw refuse.credentials_wrong()
  if (!(await fitsAtHome(deps, user, given))) throw refuse.credentials_wrong()

  const healedHash = await hasher.hash(given.password)
  if (!(await replaceHash(deps, user, healedHash))) return await proveAgain(deps, user.id, given.password)
  const { homeInstance } = user
  log.info({ userId: user.id, homeInstance, requestId: given.requestId }, 'password repaired from the home instance')
  return healedHash
}

async function fitsAtHome({ outbound, log, config }: Needs, user: User, given: Given): Promise<boolean> {
  const { homeInstance } = user
  const { password, requestId } = given
  try {
    const answer = await outbound.request({
      method: 'POST',
      url: `${homeScheme(config, homeInstance!)}://${homeInstance}/api/auth/login`,
      headers: { 'content-type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) },
      body: JSON.stringify({ username: baseUsername(user.username), password }),
      timeoutMs: policy.homeCheckTimeoutMs,
    })
    return answer.status === 200
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    log.warn({ userId: user.id, homeInstance, requestId, reason: error.kind }, 'home instance could not be asked')
    return false
  }
}

/**
 * Plain http only between instances that the operator has wired to each other by FEDERATION_RESOLVE while this one is
 * itself served over http; the outbound guard still has to allow the address.
 */
function homeScheme({ reach, publicAddress }: Needs['config'], homeInstance: string): 'http' | 'https' {
  const wired = Object.hasOwn(reach.resolve, homeInstance)
  return wired && publicAddress.origin.startsWith('http:') ? 'http' : 'https'
}

/** Only over the very hash that did not fit: a password change that committed meanwhile stays. */
async function replaceHash({ orm }: Pick<Deps, 'orm'>, user: User, healedHash: string): Promise<boolean> {
  const replaced = await changeRows(
    orm.em.fork(),
    'update users set password_hash = ? where id = ? and password_hash = ? and not is_deleted',
    [healedHash, user.id, user.passwordHash],
  )
  return replaced === 1
}

/** The hash is another one by now: right again if another login of the same user repaired it first. */
async function proveAgain(
  { orm, hasher }: Pick<Deps, 'orm' | 'hasher'>,
  id: string,
  password: string,
): Promise<string> {
  const now = await orm.em.fork().findOne(User, { id, isDeleted: false })
  if (!now || !(await hasher.verify(password, now.passwordHash))) throw refuse.credentials_wrong()
  return now.passwordHash
}
