import { randomBytes } from 'node:crypto'
import { call, isSuccess } from './calls.ts'
import { askEpoch } from './epoch.ts'
import { nullableTextField, textField } from './fields.ts'
import type { Instance, User } from './instance.ts'
import { hostOf } from './origins.ts'
import { refused, reply } from './replies.ts'
import type { Refused } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'
import { addUser, baseName, isStub, liveUsers, usersOfHost } from './users.ts'

const federatedName = /^[a-z0-9_]{3,32}@[a-z0-9._-]{1,253}$/
const localName = /^[a-z0-9_]{3,32}$/
const shortestPassword = 8

/** Status, and the text of each generation; the second has the code too. wire: 5.3 */
const refusals = {
  username_taken: [409, 'Username already taken', 'Username is already taken'],
  federated_registration_closed: [
    ...([403, 'Federated registration is closed'] as const),
    'Federated registration is closed on this instance',
  ],
  registration_closed: [403, 'Registration is closed', 'Registration is closed'],
  invalid_credentials: [401, 'Invalid username or password', 'Invalid username or password'],
  account_deleted: [401, 'This account has been deleted', 'This account has been deleted'],
} as const

function refusedFor({ generation }: Instance, code: keyof typeof refusals): Refused {
  const [status, first, second] = refusals[code]
  return generation === 2 ? refused(status, second, code) : refused(status, first)
}

type Registration = {
  username: string
  password: string
  homeInstance: string | null
  homeUserId: string | null
  displayName: string | null
}

/** Order: form, gate, lookup, name. An identity with a real account is 409, a stub is upgraded. wire: 4, register */
export function answerRegister(instance: Instance, request: ReceivedRequest): Reply {
  const registration = parseRegistration(request.body)
  const isOpen = registration.homeInstance
    ? instance.settings.federatedRegistrationOpen
    : instance.settings.registrationOpen
  if (!isOpen)
    throw refusedFor(instance, registration.homeInstance ? 'federated_registration_closed' : 'registration_closed')
  // The second generation only creates, and compares the name alone. wire: 4.1
  const existingUser = instance.generation === 2 ? undefined : findIdentity(instance, registration)
  if (existingUser && !isStub(existingUser)) throw refusedFor(instance, 'username_taken')
  const holder = liveUsers(instance).find((user) => user.username === registration.username)
  if (holder && holder !== existingUser) throw refusedFor(instance, 'username_taken')
  if (!existingUser) return signedIn(201, addUser(instance, registration))
  const { username, password, homeUserId, displayName } = registration
  Object.assign(existingUser, { username, password })
  existingUser.homeUserId ??= homeUserId
  existingUser.displayName ??= displayName
  return signedIn(200, existingUser)
}

function parseRegistration(body: unknown): Registration {
  const username = (textField(body, 'username') ?? '').trim().toLowerCase()
  const password = textField(body, 'password') ?? ''
  const homeInstance = textField(body, 'homeInstance')
  const isName = (homeInstance === null ? localName : federatedName).test(username)
  if (!isName || password.length < shortestPassword) throw refused(400, 'username or password is refused')
  const homeUserId = homeInstance === null ? null : textField(body, 'homeUserId')
  return { username, password, homeInstance, homeUserId, displayName: nullableTextField(body, 'displayName') }
}

/** By homeUserId alone, else by host and base name; detached accounts never by name. wire: 4, register */
function findIdentity(instance: Instance, registration: Registration): User | undefined {
  const { homeInstance, homeUserId } = registration
  if (homeInstance === null || homeUserId === null) return undefined
  const byId = liveUsers(instance).find((user) => user.homeUserId === homeUserId)
  const host = hostOf(homeInstance)
  if (byId || host === null) return byId
  return usersOfHost(instance, host).find((user) => baseName(user.username) === baseName(registration.username))
}

/** A replica's password that does not fit is asked of its home; detached accounts know only their own. wire: 4 */
export async function answerLogin(instance: Instance, request: ReceivedRequest): Promise<Reply> {
  const username = (textField(request.body, 'username') ?? '').trim().toLowerCase()
  const password = nullableTextField(request.body, 'password')
  if (username === '' || password === null) throw refused(400, 'username and password are required')
  const user = [...instance.users.values()].find((candidate) => candidate.username === username)
  if (!user) throw refusedFor(instance, 'invalid_credentials')
  if (user.deleted) throw refusedFor(instance, 'account_deleted')
  if (user.password === password) return signedIn(200, user)
  const isRepaired = user.password !== null && !user.detached && (await isRightAtHome(instance, user, password))
  if (!isRepaired) throw refusedFor(instance, 'invalid_credentials')
  user.password = password
  return signedIn(200, user)
}

/** Any 2xx is a yes; a home that is a known peer must then prove to be the same instance. wire: 4, login repair */
async function isRightAtHome(instance: Instance, user: User, password: string): Promise<boolean> {
  const host = user.homeInstance
  if (host === null) return false
  const body = { username: baseName(user.username), password }
  const request = { origin: `https://${host}`, method: 'POST', path: '/api/auth/login', body } as const
  const answer = await call(instance, { ...request, timeoutMs: instance.timeoutsMs.message })
  return isSuccess(answer) && (await isSameInstance(instance, host))
}

async function isSameInstance(instance: Instance, host: string): Promise<boolean> {
  const peer = instance.peers.get(`https://${host}`) ?? instance.peers.get(`http://${host}`)
  if (!peer || peer.instanceId === null) return true
  const proof = await askEpoch(instance, peer.origin, peer.secret)
  return proof?.instanceId === peer.instanceId
}

function signedIn(status: number, user: User): Reply {
  const { password: _password, markedInstanceId: _marked, detached, ...shown } = user
  const token = randomBytes(16).toString('hex')
  return reply(status, { token, user: { ...shown, federationHomeOrphaned: detached } })
}
