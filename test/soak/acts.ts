import { answered, eventually } from '@gatehouse/test-kit'
import { callApi } from '../api.ts'
import { isActive, logInAtApplication, refreshGrant, visitProvider, type Grant } from './application.ts'
import type { Member } from './ledger.ts'
import type { Mailbox } from './mails.ts'
import type { Pace } from './pace.ts'
import type { SocketOf } from './sockets.ts'
import type { Scene, Visitor } from './visitor.ts'

/** How a person gets an account. */
export const ways = ['approved', 'invited', 'by the provider', 'to travel'] as const
export type Way = (typeof ways)[number]

export type Person = Scene & {
  index: number
  way: Way
  member: Member
  visitor: Visitor
  socket: SocketOf
  mailbox: Mailbox
  pace: Pace
  grant?: Grant
  /** Of their account at the peer. */
  awayToken?: string
}

const arrivalLimitMs = 120_000
/** A PNG of one pixel. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export async function connect({ socket, member, system, visitor, ledger }: Person): Promise<void> {
  await socket.open(member.token)
  await socket.say()
  const isOnline = async () =>
    (await visitor.call(`GET /api/users/${member.id}`, { token: system.admin.token })).body.status === 'online'
  await eventually(`${member.username} is online`, isOnline, arrivalLimitMs)
  ledger.count('people seen online')
}

export async function reconnect({ socket, member, visitor }: Person): Promise<void> {
  await socket.close()
  await socket.open(member.token)
  for (const path of ['sockets', 'sign-ins', 'identities'])
    await answered(visitor.call(`GET /api/users/@me/${path}`, { token: member.token }), 200)
}

export async function editProfile({ visitor, member, random }: Person): Promise<void> {
  const displayName = `${member.username} ${random.below(1_000_000)}`
  await answered(
    visitor.call('PATCH /api/users/@me', { token: member.token, body: { displayName, bio: displayName } }),
    200,
  )
  member.displayName = displayName
}

export async function upload({ visitor, member }: Person): Promise<void> {
  const form = new FormData()
  form.append('file', new Blob([picture], { type: 'image/png' }), 'picture.png')
  const { token } = member
  const { body } = await answered(visitor.call('POST /api/uploads', { token, form }), 201)
  await answered(visitor.call('PATCH /api/users/@me', { token, body: { avatar: body.filename } }), 200)
  await answered(visitor.call(`GET /api/uploads/${String(body.filename)}`), 200)
}

export const addressOf = ({ username }: Member) => `${username}@mail.example`

export async function setEmail({ visitor, member, ledger, mailbox }: Person): Promise<void> {
  const { token, password } = member
  const email = addressOf(member)
  await answered(visitor.call('PATCH /api/users/@me', { token, body: { emailNotices: false } }), 200)
  await answered(visitor.call('PUT /api/users/@me/email', { token, body: { email, password } }), 200)
  ledger.await('mail: confirmation', email)
  const confirmation = { body: { token: await mailbox.linkTo(email) } }
  await answered(visitor.call('POST /api/auth/email/confirm', confirmation), 200)
}

export async function logInByProvider(person: Person): Promise<void> {
  const { visitor, member } = person
  const ticket = await visitProvider(person, visitor, { sub: member.username, purpose: 'login' })
  const { body } = await answered(visitor.call('POST /api/auth/providers/finish', { body: { ticket } }), 200)
  member.token = String(body.token)
}

export async function useApplication(person: Person): Promise<void> {
  const { visitor, member, ledger } = person
  person.grant = await logInAtApplication(person, visitor, member.token)
  if (!(await isActive(person, visitor, person.grant.access))) throw new Error('a new access token is not active')
  person.grant = await refreshGrant(person, visitor, person.grant)
  await answered(visitor.call('GET /oauth2/userinfo', { token: person.grant.access }), 200)
  ledger.count('logins at the application')
}

/** Has an account at the peer, which learns the profile. */
export async function travel(person: Person): Promise<void> {
  const { system, visitor, member, ledger } = person
  const { token, password, id } = member
  const username = `${member.username}@${system.host}`
  const registration = { username, password, homeInstance: system.host, homeUserId: id }
  const { body } = await answered(
    visitor.call('POST /api/auth/register', { at: system.peer.url, body: registration }),
    201,
  )
  person.awayToken = String(body.token)
  const replicatedInstances = [{ origin: system.peer.origin, username }]
  await answered(visitor.call('PATCH /api/users/@me', { token, body: { replicatedInstances } }), 200)
  const displayName = `${member.username} away`
  await answered(visitor.call('PATCH /api/users/@me', { token, body: { displayName } }), 200)
  member.displayName = displayName
  const arrived = async () =>
    (await callApi(system.peer.url, 'GET /api/users/@me', { token: person.awayToken })).body.displayName === displayName
  await eventually(`the profile of ${username} is at the peer`, arrived, arrivalLimitMs)
  ledger.count('profiles at the peer')
}

export async function changePassword(person: Person): Promise<void> {
  const { visitor, member, ledger } = person
  const { token, password } = member
  const newPassword = `another password of ${member.username}`
  const body = { currentPassword: password, newPassword }
  const changed = await answered(visitor.call('POST /api/users/@me/change-password', { token, body }), 200)
  member.password = newPassword
  member.token = String(changed.body.token)
  ledger.await('PasswordChanged', member.id)
  ledger.await('mail: password changed', addressOf(member))
  await refused(person, { token, why: 'a password change' })
  const login = { body: { username: member.username, password: newPassword } }
  member.token = String((await answered(visitor.call('POST /api/auth/login', login), 200)).body.token)
}

export async function endSessions(person: Person): Promise<void> {
  const { visitor, member, ledger } = person
  const { token } = member
  const ticket = await visitProvider(person, visitor, { sub: member.username, purpose: 'confirm', token })
  const ended = await answered(visitor.call('POST /api/users/@me/sessions/end', { token, body: { ticket } }), 200)
  member.token = String(ended.body.token)
  ledger.await('SessionsEnded', member.id)
  await refused(person, { token, why: 'an end of sessions' })
}

/** At once, at each gateway; what the application has, too. */
export async function refused(person: Person, { token, why }: { token: string; why: string }): Promise<void> {
  const { visitor, ledger, member, grant } = person
  ledger.revoke(token, why)
  for (const at of visitor.gateways) {
    const { status } = await visitor.call('GET /api/users/@me', { token, at })
    if (status !== 401) ledger.violation(`a token of ${member.username} was answered with ${status} after ${why}`)
  }
  if (!grant) return
  if (await isActive(person, visitor, grant.access)) ledger.violation(`an access token is active after ${why}`)
  ledger.await('logout at the application', member.id)
  delete person.grant
}
