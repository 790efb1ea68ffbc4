import type { LinkedIdentityReply, UserReply } from '@gatehouse/contracts'
import type { OperatorCall } from '../../calls/operator-calls.ts'
import { actOnEach, concluded } from '../act-on-each.ts'
import { ReportedFailure } from '../failure.ts'
import { formatTime, readSecretLine, record, table } from '../invocation.ts'
import type { DefineGroup, Invocation, Result } from '../invocation.ts'

/** `users …`: the routes of admins, and what only the command line does. Contract: 5, users. */
export function defineUserCommands(group: DefineGroup): void {
  const define = group('users', 'Manage users (identified by username or ID)')
  define('list', 'List users, newest first', listUsers)
    .option('--query <text>', 'only users whose name contains this text')
    .option('--role <role>', 'admin or non-admin')
    .option('--home <host>', 'only users from this home instance, or local')
    .option('--deleted', 'include deleted users')
    .option('--suspended', 'only suspended users')
    .option('--invite <id>', 'only users who registered with this invite')
    .option('--page <number>', 'page number, 100 users per page', '1')
  define('show <user>', 'Show a user', async (invocation, _options, name) => {
    const user = await findUser(invocation, name)
    return { json: user, text: describeUser(user) }
  })
  define('identities <user>', 'List the accounts at identity providers with which a user logs in', listIdentities)
  define('create <username>', 'Create a local user, even if registration is closed', createUser)
    .option('--display-name <name>')
    .option('--password-stdin', 'read the password from standard input (default: a temporary one)')
    .option('--admin', 'make the user an admin')
  define('make-admin <user>', 'Make a user an admin', setRole(true))
  define('remove-admin <user>', 'Remove a user as admin', setRole(false))
  define('reset-password <user>', 'Set a temporary password and log the user out everywhere', resetPassword)
  const link = 'Create a password reset link; nothing changes until it is used'
  define('recovery-link <user>', link, createRecoveryLink)
  const suspend = (invocation: Invocation, { reason }: { reason?: string }, ...names: string[]) =>
    changeEach(invocation, names, { change: (id) => suspensionOf(id, reason), now: 'is suspended' })
  const reason = ['--reason <text>', 'shown to the user at login'] as const
  define('suspend <users...>', 'Log users out everywhere and block logins until unsuspended', suspend).option(...reason)
  const unsuspension = (id: string): OperatorCall => ({ endpoint: 'unsuspendUser', params: { id } })
  define('unsuspend <users...>', 'Allow suspended users to log in again', (invocation, _options, ...names) =>
    changeEach(invocation, names, { change: unsuspension, now: 'can log in again' }),
  )
  const removal = changeOne('removeSecondFactor', {
    asks: ({ username }) => `${username} will be able to log in with the password alone.`,
    tell: ({ username }) => `Two-factor authentication is off for ${username}`,
  })
  define(
    'remove-second-factor <user>',
    'Turn off two-factor authentication for a user who has lost it; keeps the password',
    removal,
  )
  const deleteUser = changeOne('deleteUser', {
    asks: ({ id, username }) => `This deletes the user ${username} (${id}) and everything they wrote.`,
    tell: ({ id, username }, { instances }) =>
      `Deleted ${username} (${id}); other instances asked to delete the account: ${String(instances)}`,
  })
  define(
    'delete <user>',
    'Delete a user and everything they wrote, also at peers where they have an account',
    deleteUser,
  ).option('--mode <mode>', 'at peers: soft keeps the messages, full deletes them', 'soft')
}

/** `sessions end`. Contract: 3, sessions/end. */
export function defineSessionCommands(group: DefineGroup): void {
  const endSessions = changeOne('endUserSessions', { tell: ({ username }) => `Logged ${username} out everywhere` })
  const define = group('sessions', 'Manage sessions')
  define('end <user>', 'Log a user out everywhere; keeps the password', endSessions)
}

/** Throws CommandFailure. */
export async function findUser({ call }: Pick<Invocation, 'call'>, user: string): Promise<UserReply> {
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
  const entries = Object.entries({ q, homeInstance, showDeleted, ...others, pageSize: 100 })
  const query = Object.fromEntries(entries.filter(([, value]) => value != null)) as Record<string, string>
  const reply = await call({ endpoint: 'listUsers', query })
  const users = reply['users'] as UserReply[]
  const rows = users.map((user) => [user.id, user.username, user.displayName, roleOf(user), formatTime(user.createdAt)])
  const summary = `${users.length} of ${String(reply['total'])}, page ${String(reply['page'])}`
  return { json: reply, text: `${table(['id', 'username', 'display name', 'role', 'joined (UTC)'], rows)}\n${summary}` }
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
    ...(user.suspendedAt && { suspended: user.suspendedReason ?? 'no reason given' }),
    ...(user.homeSuspendedAt && { 'suspended by its home (UTC)': formatTime(user.homeSuspendedAt) }),
    'home instance': user.homeInstance ?? 'this instance',
    'temporary password': user.passwordChangeRequired ? 'yes (not changed yet)' : 'no',
    ...(user.hasPassword === false && { password: 'none' }),
    'two-factor': user.secondFactor ? 'on' : 'off',
    detached: user.federationHomeOrphaned ? 'yes' : 'no',
    'registered (UTC)': formatTime(user.createdAt),
  })
}

async function listIdentities(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  const reply = await invocation.call({ endpoint: 'describeUser', params: { id } })
  const identities = (reply['identities'] ?? []) as LinkedIdentityReply[]
  const rows = identities.map(({ provider, name, linkedAt, lastUsedAt }) => {
    return [provider, name, formatTime(linkedAt), formatTime(lastUsedAt)]
  })
  const text = table(['provider', 'name', 'linked (UTC)', 'last login (UTC)'], rows)
  return { json: { id, username, identities }, text }
}

type CreateOptions = { displayName?: string; passwordStdin?: boolean; admin?: boolean }

async function createUser({ call, terminal }: Invocation, options: CreateOptions, username: string): Promise<Result> {
  const { displayName, passwordStdin, admin } = options
  const password = passwordStdin && (await readSecretLine(terminal))
  const body = { username, ...(displayName && { displayName }), ...(password && { password }) }
  const { user: newUser, temporaryPassword } = await call({ endpoint: 'createUser', body })
  const { id, username: name } = newUser as UserReply
  const temporary = temporaryPassword === null ? '' : `\ntemporary password  ${temporaryPassword as string}`
  const tell = (user: unknown): Result => {
    return { json: { user, temporaryPassword }, text: `${describeUser(user as UserReply)}${temporary}` }
  }
  if (!admin) return tell(newUser)
  try {
    return tell(await call({ endpoint: 'setRole', params: { id }, body: { isAdmin: true } }))
  } catch (error) {
    // The account exists, and nothing shows its password again.
    const command = `gatehouse users make-admin ${name}`
    const message = `could not make ${name} an admin: ${(error as Error).message}\nto make ${name} an admin: ${command}`
    throw new ReportedFailure(error as Error, message, tell(newUser))
  }
}

function setRole(isAdmin: boolean) {
  return async (invocation: Invocation, _options: object, name: string): Promise<Result> => {
    const { id } = await findUser(invocation, name)
    const user = (await invocation.call({ endpoint: 'setRole', params: { id }, body: { isAdmin } })) as UserReply
    return { json: user, text: `${user.username} is ${user.isAdmin ? 'now an admin' : 'no longer an admin'}` }
  }
}

async function resetPassword(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`This replaces the password of ${username} and logs the user out everywhere.`)
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

/** Throws CommandFailure, also if all are rejected. */
async function changeEach(invocation: Invocation, names: string[], { change, now }: Each): Promise<Result> {
  const users: UserReply[] = []
  const act = async ([name = '']: string[]) => {
    users.push((await invocation.call(change((await findUser(invocation, name)).id))) as UserReply)
  }
  const outcome = await actOnEach(names, { act })
  const failures = outcome.left.map(({ item, reason }) => `${item}: ${reason}`)
  const error = outcome.left.at(-1)?.error
  if (error && failures.length === names.length && !outcome.failure)
    throw names.length === 1 ? error : Object.assign(error, { message: failures.join('\n') })
  const text = [...users.map(({ username }) => `${username} ${now}`), ...failures].join('\n')
  return concluded({ json: names.length === 1 ? users[0] : { users, left: failures }, text }, outcome)
}

export function suspensionOf(id: string, reason: string | undefined): OperatorCall {
  return { endpoint: 'suspendUser', params: { id }, body: { ...(reason !== undefined && { reason }) } }
}
