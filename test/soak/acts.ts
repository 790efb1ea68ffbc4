import { eventually } from '@gatehouse/test-kit'
import { callApi } from '../api.ts'
import { isActive, logInAtApplication, refreshGrant, visitProvider, type Grant } from './application.ts'
import type { Member } from './ledger.ts'
import type { Mailbox } from './mails.ts'
import type { Pace } from './pace.ts'
import type { SocketOf } from './sockets.ts'
import type { Scene, Visitor } from './visitor.ts'

/** How somebody comes. */
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
  const seen = async () =>
    (await visitor.call(`GET /api/users/${member.id}`, { token: system.admin.token })).body.status === 'online'
  await eventually(`${member.username} is online`, seen, arrivalLimitMs)
  ledger.count('people seen online')
}

export async function reconnect({ socket, member, visitor }: Person): Promise<void> {
  await socket.close()
  await socket.open(member.token)
  for (const path of ['sockets', 'sign-ins', 'identities'])
    await visitor.expect(`GET /api/users/@me/${path}`, 200, { token: member.token })
}

export async function editProfile({ visitor, member, random }: Person): Promise<void> {
  const displayName = `${member.username} ${random.below(1_000_000)}`
  await visitor.expect('PATCH /api/users/@me', 200, { token: member.token, body: { displayName, bio: displayName } })
  member.displayName = displayName
}

export async function upload({ visitor, member }: Person): Promise<void> {
  const form = new FormData()
  form.append('file', new Blob([picture], { type: 'image/png' }), 'picture.png')
  const { token } = member
  const { body } = await visitor.expect('POST /api/uploads', 201, { token, form })
  await visitor.expect('PATCH /api/users/@me', 200, { token, body: { avatar: body.filename } })
  await visitor.expect(`GET /api/uploads/${String(body.filename)}`, 200)
}

export const addressOf = ({ username }: Member) => `${username}@mail.example`

export async function setEmail({ visitor, member, ledger, mailbox }: Person): Promise<void> {
  const { token, password } = member
  const email = addressOf(member)
  await visitor.expect('PATCH /api/users/@me', 200, { token, body: { emailNotices: false } })
  await visitor.expect('PUT /api/users/@me/email', 200, { token, body: { email, password } })
  ledger.await('mail: confirmation', email)
  const confirmation = { body: { token: await mailbox.linkTo(email) } }
  await visitor.expect('POST /api/auth/email/confirm', 200, confirmation)
}

export async function logInByProvider(person: Person): Promise<void> {
  const { visitor, member } = person
  const ticket = await visitProvider(person, visitor, { sub: member.username, purpose: 'login' })
  const { body } = await visitor.expect('POST /api/auth/providers/finish', 200, { body: { ticket } })
  member.token = String(body.token)
}

export async function useApplication(person: Person): Promise<void> {
  const { visitor, member, ledger } = person
  person.grant = await logInAtApplication(person, visitor, member.token)
  if (!(await isActive(person, visitor, person.grant.access))) throw new Error('a new access token is not active')
  person.grant = await refreshGrant(person, visitor, person.grant)
  await visitor.expect('GET /oauth2/userinfo', 200, { token: person.grant.access })
  ledger.count('logins at the application')
}

/** Has an account at the peer, which learns the profile. */
export async function travel(person: Person): Promise<void> {
  const { system, visitor, member, ledger } = person
  const { token, password, id } = member
  const username = `${member.username}@${system.host}`
  const registration = { username, password, homeInstance: system.host, homeUserId: id }
  const { body } = await visitor.expect('POST /api/auth/register', 201, { at: system.peer.url, body: registration })
  person.awayToken = String(body.token)
  const replicatedInstances = [{ origin: system.peer.origin, username }]
  await visitor.expect('PATCH /api/users/@me', 200, { token, body: { replicatedInstances } })
  const displayName = `${member.username} away`
  await visitor.expect('PATCH /api/users/@me', 200, { token, body: { displayName } })
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
  const changed = await visitor.expect('POST /api/users/@me/change-password', 200, { token, body })
  member.password = newPassword
  member.token = String(changed.body.token)
  ledger.await('PasswordChanged', member.id)
  ledger.await('mail: password changed', addressOf(member))
  await refused(person, { token, why: 'a password change' })
  const login = { body: { username: member.username, password: newPassword } }
  member.token = String((await visitor.expect('POST /api/auth/login', 200, login)).body.token)
}

export async function endSessions(person: Person): Promise<void> {
  const { visitor, member, ledger } = person
  const { token } = member
  const ticket = await visitProvider(person, visitor, { sub: member.username, purpose: 'confirm', token })
  const ended = await visitor.expect('POST /api/users/@me/sessions/end', 200, { token, body: { ticket } })
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
