import { answered, eventually } from '@gatehouse/test-kit'
import { callApi } from '../api.ts'
import {
  addressOf,
  changePassword,
  connect,
  editProfile,
  endSessions,
  logInByProvider,
  reconnect,
  refused,
  setEmail,
  travel,
  upload,
  useApplication,
  ways,
  type Person,
  type Way,
} from './acts.ts'
import { visitProvider } from './application.ts'
import type { Member } from './ledger.ts'
import type { Mailbox } from './mails.ts'
import { networkOf, type Pace } from './pace.ts'
import { createSocketOf } from './sockets.ts'
import { rest, visitorFrom, type Scene, type Visitor } from './visitor.ts'

const deletionLimitMs = 120_000

/** Comes, does everything once at least, and leaves; stays where the run ends before. What is acknowledged is in the ledger. */
export async function live(scene: Scene, { index, pace, mailbox }: { index: number; pace: Pace; mailbox: Mailbox }) {
  const { ledger, stop } = scene
  const network = networkOf(index)
  const visitor = visitorFrom(scene, network)
  const way = ways[index % ways.length]!
  const username = `soak_${index}`
  let member: Member
  try {
    member = await arrive(scene, visitor, { way, username, network })
  } catch (error) {
    return ledger.violation(`${username} could not come (${way}): ${String(error)}`)
  }
  const socket = createSocketOf(visitor.gateways, scene)
  const person: Person = { ...scene, index, way, member, visitor, socket, mailbox, pace }
  const steps = stepsOf(person)
  for (const step of steps) {
    if (stop.aborted) break
    await step(person).catch((error: unknown) => ledger.violation(`${username}, ${step.name}: ${String(error)}`))
    await readFor(person, pace.lifeMs / steps.length)
  }
  await socket.close()
  if (!stop.aborted)
    await depart(person).catch((error: unknown) => ledger.violation(`${username}, leaving: ${String(error)}`))
}

const stepsOf = ({ way, index }: Person): ((person: Person) => Promise<void>)[] => [
  connect,
  editProfile,
  ...(way === 'by the provider' ? [logInByProvider] : [setEmail]),
  useApplication,
  ...(way === 'to travel' ? [travel] : [reconnect]),
  ...(way === 'by the provider' ? [endSessions] : [changePassword]),
  connect,
  ...(index % 3 === 0 ? [upload] : [editProfile]),
]

async function arrive(
  scene: Scene,
  visitor: Visitor,
  { way, username, network }: { way: Way; username: string; network: string },
): Promise<Member> {
  const { ledger, system } = scene
  const password = way === 'by the provider' ? undefined : `the password of ${username}`
  const asAdmin = { token: system.admin.token }
  let answer
  if (password === undefined) {
    const ticket = await visitProvider(scene, visitor, { sub: username, purpose: 'login' })
    answer = await answered(visitor.call('POST /api/auth/providers/finish', { body: { ticket, username } }), 201)
  } else if (way === 'approved') {
    await answered(visitor.call('POST /api/auth/register', { body: { username, password } }), 202)
    const { body } = await answered(visitor.call(`GET /api/admin/registrations?q=${username}`, asAdmin), 200)
    const registration = (body.registrations as { id: string; username: string }[]).find(
      (one) => one.username === username,
    )
    await answered(
      visitor.call(`POST /api/admin/registrations/${registration?.id}/approve`, { ...asAdmin, body: {} }),
      200,
    )
    answer = await answered(visitor.call('POST /api/auth/login', { body: { username, password } }), 200)
  } else {
    const reply = await answered(
      visitor.call('POST /api/admin/invites', {
        ...asAdmin,
        body: { name: username, maxUses: 1 },
      }),
      201,
    )
    const { id, token } = reply.body as { id: string; token: string }
    const body = { username, password, inviteToken: token }
    answer = await answered(visitor.call('POST /api/auth/register', { body }), 201)
    await answered(visitor.call(`DELETE /api/admin/invites/${id}`, asAdmin), 200)
  }
  const { token, user } = answer.body as { token: string; user: { id: string } }
  const member = { id: user.id, username, network, token, password, displayName: '' }
  ledger.members.set(member.id, member)
  ledger.await('UserCreated', member.id)
  ledger.count(`people who came: ${way}`)
  return member
}

/** Reads now and then, at any gateway, until the time is over. */
async function readFor({ visitor, member, pace, stop, ledger, random }: Person, ms: number): Promise<void> {
  const until = performance.now() + ms
  while (!stop.aborted && performance.now() + pace.readMs < until) {
    await rest(stop, pace.readMs * (0.5 + random.below(100) / 100))
    const { token, displayName } = member
    const { body, status } = await visitor.call('GET /api/users/@me', { token })
    if (status !== 200 || (displayName !== '' && body.displayName !== displayName))
      ledger.violation(`${member.username} reads ${status} "${String(body.displayName)}", not "${displayName}"`)
    ledger.count('reads of what was written')
  }
  await rest(stop, until - performance.now())
}

/** Who leaves by themselves says first where else they leave. */
async function departFromPeer({ visitor, member, system }: Person): Promise<void> {
  const body = { origins: [system.peer.origin], mode: 'soft', durable: true }
  await answered(visitor.call('POST /api/users/@me/federation-identity/delete', { token: member.token, body }), 200)
}

/** By themselves, or by an admin. */
async function depart(person: Person): Promise<void> {
  const { visitor, member, ledger, system, index, way } = person
  const { token, username, password, id } = member
  if (index % 8 >= 4) {
    const body = { mode: 'soft' }
    await answered(visitor.call(`DELETE /api/admin/users/${id}`, { token: system.admin.token, body }), 200)
  } else {
    if (person.awayToken !== undefined) await departFromPeer(person)
    const confirmation =
      password === undefined
        ? { ticket: await visitProvider(person, visitor, { sub: username, purpose: 'confirm', token }) }
        : { password }
    await answered(visitor.call('DELETE /api/users/@me', { token, body: { username, ...confirmation } }), 200)
  }
  ledger.leave(member)
  ledger.await('UserDeleted', id)
  if (way !== 'by the provider') ledger.await('mail: deleted', addressOf(member))
  await refused(person, { token, why: 'a deletion' })
  const { awayToken } = person
  if (awayToken === undefined) return
  const isGone = async () => (await callApi(system.peer.url, 'GET /api/users/@me', { token: awayToken })).status === 401
  await eventually(`the account of ${username} at the peer is deleted`, isGone, deletionLimitMs)
  ledger.count('deletions at the peer')
}
