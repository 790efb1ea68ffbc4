import type { UserReply } from '@gatehouse/contracts'
import type { OperatorCall } from '../../calls/operator-calls.ts'
import { CommandFailure, exitCodes } from '../failure.ts'
import { formatTime, readSecretLine, record, table } from '../invocation.ts'
import type { DefineGroup, Invocation, Result } from '../invocation.ts'

/** `users …`: the routes of admins, and what only the command line does. Contract: 5. */
export function defineUserCommands(group: DefineGroup): void {
  const define = group('users', 'Accounts. A user is named by username or id')
  define('list', 'Accounts, newest first', listUsers)
    .option('--query <text>', 'only those with this text in their name')
    .option('--role <role>', 'admin or non-admin')
    .option('--home <host>', 'those of one home instance, or local')
    .option('--deleted', 'deleted accounts too')
    .option('--suspended', 'suspended accounts alone')
    .option('--invite <id>', 'those that came by one invite')
    .option('--page <number>', 'the page of 100', '1')
  define('show <user>', 'One account', async (invocation, _options, name) => {
    const user = await findUser(invocation, name)
    return { json: user, text: describeUser(user) }
  })
  define('create <username>', 'Makes a local account, whether registration is open or not', createUser)
    .option('--display-name <name>')
    .option('--password-stdin', 'read its password from standard input; without it a temporary one is made')
    .option('--admin', 'make it an admin')
  define('make-admin <user>', 'Gives the role of an admin', setRole(true))
  define('remove-admin <user>', 'Takes the role of an admin away', setRole(false))
  define('reset-password <user>', 'Gives a temporary password, ends all sessions', resetPassword)
  const link = 'A link by which the person chooses a new password; nothing changes until it is used'
  define('recovery-link <user>', link, createRecoveryLink)
  const suspend = (invocation: Invocation, { reason }: { reason?: string }, ...names: string[]) =>
    changeEach(invocation, names, { change: (id) => suspensionOf(id, reason), now: 'is suspended' })
  const reason = ['--reason <text>', 'what the person reads at the login'] as const
  define('suspend <users...>', 'Ends all sessions and refuses logins until unsuspend', suspend).option(...reason)
  const unsuspension = (id: string): OperatorCall => ({ endpoint: 'unsuspendUser', params: { id } })
  define('unsuspend <users...>', 'Takes logins again', (invocation, _options, ...names) =>
    changeEach(invocation, names, { change: unsuspension, now: 'can log in again' }),
  )
  const removal = changeOne('removeSecondFactor', {
    asks: ({ username }) => `From now on the password alone signs ${username} in.`,
    tell: ({ username }) => `${username} has no second factor any more`,
  })
  define('remove-second-factor <user>', 'Turns off the second factor of who has lost it; the password stays', removal)
  const deleteUser = changeOne('deleteUser', {
    asks: ({ id, username }) => `The account ${username} (${id}) is deleted with all that it wrote.`,
    tell: ({ id, username }, { instances }) =>
      `${username} (${id}) is deleted; other instances that are asked to delete it: ${String(instances)}`,
  })
  define('delete <user>', 'Deletes an account with all it wrote, also at peers that have it', deleteUser).option(
    '--mode <mode>',
    'at peers: soft keeps the messages, full deletes them',
    'soft',
  )
}

/** `sessions end`. Contract: 3, sessions/end. */
export function defineSessionCommands(group: DefineGroup): void {
  const endSessions = changeOne('endUserSessions', { tell: ({ username }) => `All sessions of ${username} have ended` })
  const define = group('sessions', 'Signed-in devices')
  define('end <user>', 'Ends all sessions of a user; the password stays', endSessions)
}

/** Throws CommandFailure. */
async function findUser({ call }: Invocation, user: string): Promise<UserReply> {
  return (await call({ endpoint: 'findUser', query: { user } }))['user'] as UserReply
}

type Reply = Record<string, unknown>
type Change = { asks?: (user: UserReply) => string; tell: (user: UserReply, reply: Reply) => string }

/** An endpoint with the id of the user that is named. The options are its body. */
function changeOne(endpoint: string, { asks, tell }: Change) {
  return async (invocation: Invocation, body: Record<string, unknown>, name: string): Promise<Result> => {
    const user = await findUser(invocation, name)
    const { id, username } = user
    if (asks) await invocation.confirm(asks(user))
    const { success: _, ...reply } = await invocation.call({
      endpoint,
      params: { id },
      ...(Object.keys(body).length > 0 && { body }),
    })
    return { json: { id, username, ...reply }, text: tell(user, reply) }
  }
}

async function listUsers({ call }: Invocation, options: Record<string, string | boolean | undefined>): Promise<Result> {
  const { query: q, home: homeInstance, deleted: showDeleted, ...others } = options
  const asked = Object.entries({ q, homeInstance, showDeleted, ...others, pageSize: 100 })
  const query = Object.fromEntries(asked.filter(([, value]) => value != null)) as Record<string, string>
  const reply = await call({ endpoint: 'listUsers', query })
  const found = reply['users'] as UserReply[]
  const rows = found.map((user) => [user.id, user.username, user.displayName, roleOf(user), formatTime(user.createdAt)])
  const summary = `${found.length} of ${String(reply['total'])}, page ${String(reply['page'])}`
  return { json: reply, text: `${table(['id', 'username', 'display name', 'role', 'since'], rows)}\n${summary}` }
}

const roleOf = ({ isAdmin, isDeleted, suspendedAt, homeSuspendedAt }: UserReply): string | null =>
  isDeleted ? 'deleted' : suspendedAt || homeSuspendedAt ? 'suspended' : isAdmin ? 'admin' : null

function describeUser(user: UserReply): string {
  return record({
    id: user.id,
    username: user.username,
    'display name': user.displayName,
    role: roleOf(user) ?? 'user',
    status: user.status,
    ...(user.suspendedAt && { suspended: user.suspendedReason ?? 'without a reason' }),
    ...(user.homeSuspendedAt && { 'suspended by its home (UTC)': formatTime(user.homeSuspendedAt) }),
    'home instance': user.homeInstance ?? 'this one',
    'temporary password': user.passwordChangeRequired ? 'yes, not replaced yet' : 'no',
    'second factor': user.secondFactor ? 'on' : 'off',
    'detached from its home': user.federationHomeOrphaned ? 'yes' : 'no',
    'registered (UTC)': formatTime(user.createdAt),
  })
}

type CreateOptions = { displayName?: string; passwordStdin?: boolean; admin?: boolean }

async function createUser({ call, terminal }: Invocation, options: CreateOptions, username: string): Promise<Result> {
  const { displayName, passwordStdin, admin } = options
  const password = passwordStdin && (await readSecretLine(terminal))
  const body = { username, ...(displayName && { displayName }), ...(password && { password }) }
  const { user: made, temporaryPassword } = await call({ endpoint: 'createUser', body })
  const { id } = made as UserReply
  const user = admin ? await call({ endpoint: 'setRole', params: { id }, body: { isAdmin: true } }) : made
  const temporary = temporaryPassword === null ? '' : `\ntemporary password  ${temporaryPassword as string}`
  return { json: { user, temporaryPassword }, text: `${describeUser(user as UserReply)}${temporary}` }
}

function setRole(isAdmin: boolean) {
  return async (invocation: Invocation, _options: object, name: string): Promise<Result> => {
    const { id } = await findUser(invocation, name)
    const user = (await invocation.call({ endpoint: 'setRole', params: { id }, body: { isAdmin } })) as UserReply
    return { json: user, text: `${user.username} is ${user.isAdmin ? 'an admin' : 'no admin any more'}` }
  }
}

async function resetPassword(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`The password of ${username} is replaced and all its sessions end.`)
  const { temporaryPassword } = await invocation.call({ endpoint: 'resetPassword', params: { id } })
  return { json: { id, username, temporaryPassword }, text: `temporary password  ${String(temporaryPassword)}` }
}

async function createRecoveryLink(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  const reply = await invocation.call({ endpoint: 'createRecoveryLink', params: { id } })
  const expires = formatTime(reply['expiresAt'])
  return { json: { id, username, ...reply }, text: record({ link: reply['url'], 'expires (UTC)': expires }) }
}

type Each = { change: (id: string) => OperatorCall; now: string }

/** Of several each alone: those that are refused stand in no other's way. Throws CommandFailure if all are. */
async function changeEach(invocation: Invocation, names: string[], { change, now }: Each): Promise<Result> {
  const users: UserReply[] = []
  const left: string[] = []
  for (const name of names) {
    try {
      users.push((await invocation.call(change((await findUser(invocation, name)).id))) as UserReply)
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitCode === exitCodes.unreachable) throw error
      left.push(`${name}: ${error.message}`)
      const isAll = left.length === names.length
      if (isAll) throw names.length === 1 ? error : Object.assign(error, { message: left.join('\n') })
    }
  }
  const text = [...users.map(({ username }) => `${username} ${now}`), ...left].join('\n')
  return { json: names.length === 1 ? users[0] : { users, left }, text }
}

export function suspensionOf(id: string, reason: string | undefined): OperatorCall {
  return { endpoint: 'suspendUser', params: { id }, body: { ...(reason !== undefined && { reason }) } }
}
