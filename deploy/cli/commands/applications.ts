import type { ApplicationReply, ReceiverState } from '@gatehouse/contracts'
import { InvalidArgumentError } from 'commander'
import { CommandFailure } from '../failure.ts'
import { formatTime, record, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'

const several = (value: string, before: string[] = []) => [...before, value]
const redirect = ['--redirect-uri <uri>', 'where logins return to, exactly; repeat for several', several] as const
const ended = ['--post-logout-uri <uri>', 'where logouts return to, exactly; repeat for several', several] as const
const logout = ['--logout-uri <uri>', 'receives Back-Channel Logout; "none" removes it'] as const
const signals = ['--signals-uri <uri>', 'receives Shared Signals; "none" removes it'] as const
const tokens = ['--access-tokens <form>', 'opaque or jwt'] as const

const device = ['--device-grant <boolean>', 'true or false: whether devices log in with a code', readBoolean] as const
const subject = ['--subject-type <type>', 'public or pairwise: whether other hosts get the same user IDs'] as const

/** `applications …`. Contract: 3, Applications. */
export function defineApplicationCommands(group: DefineGroup): void {
  const define = group(
    'applications',
    'Manage applications that log users in with this instance (identified by ID or name)',
  )
  define('list', 'List applications, newest first', listApplications)
  define('create <name>', 'Add an application; prints its secret, which is not shown again', createApplication)
    .option(...redirect)
    .option(...ended)
    .option('--public', 'an application without a secret, such as a native one')
    .option(...logout)
    .option(...signals)
    .option('--skip-consent', "don't ask users for their consent")
    .option(...tokens)
    .option(...device)
    .option(...subject)
  define('change <application>', 'Change what is given', changeApplication)
    .option('--name <name>', 'a new name')
    .option(...redirect)
    .option(...ended)
    .option(...logout)
    .option(...signals)
    .option('--skip-consent <boolean>', 'true or false', readBoolean)
    .option(...tokens)
    .option(...device)
  define(
    'renew-secret <application>',
    'Make a new secret; the one before works for a day, unless a second one follows',
    renewSecret,
  )
  define(
    'verify <application>',
    'Send a verification event to the receiver of signals',
    async (invocation, _, name) => {
      const { id } = await find(invocation, name)
      const json = await invocation.call({ endpoint: 'testApplicationReceiver', params: { id } })
      return { json, text: 'A verification event is on its way: "applications list" shows how it goes' }
    },
  )
  for (const [verb, suspended, description] of [
    ['suspend', true, 'Reject all its tokens until unsuspended'],
    ['unsuspend', false, 'Accept its tokens again'],
  ] as const)
    define(`${verb} <application>`, description, (invocation, _, name) => patch(invocation, name, { suspended }))
  define('delete <application>', 'Delete an application and all that users allowed it', deleteApplication)
}

async function listApplications(invocation: Invocation): Promise<Result> {
  const applications = await all(invocation)
  const rows = applications.map(({ id, name, type, suspendedAt, redirectUris, receiver }) => {
    const receivers = [tell('logout', receiver.backchannel), tell('signals', receiver.signals)].filter(Boolean)
    return [id, name, suspendedAt === null ? type : 'suspended', redirectUris.join(' '), receivers.join('; ')]
  })
  return { json: applications, text: table(['client id', 'name', 'type', 'redirects', 'receivers'], rows) }
}

function tell(what: string, state: ReceiverState | null): string {
  if (!state) return ''
  const { waiting, lastDeliveredAt, failingSince, lastError } = state
  const last = lastDeliveredAt === null ? 'never told' : `told ${formatTime(lastDeliveredAt)}`
  const failing = failingSince === null ? '' : `, failing since ${formatTime(failingSince)}: ${lastError}`
  return `${what}: ${waiting} waiting, ${last}${failing}`
}

type Options = {
  redirectUri?: string[]
  postLogoutUri?: string[]
  logoutUri?: string
  signalsUri?: string
  skipConsent?: boolean
  accessTokens?: string
  deviceGrant?: boolean
  subjectType?: string
}

function bodyOf({ redirectUri, postLogoutUri, logoutUri, signalsUri, skipConsent, ...options }: Options) {
  const { accessTokens, deviceGrant, subjectType } = options
  const orNull = (uri: string) => (uri === 'none' ? null : uri)
  return {
    ...(redirectUri && { redirectUris: redirectUri }),
    ...(postLogoutUri && { postLogoutRedirectUris: postLogoutUri }),
    ...(logoutUri !== undefined && { backchannelLogoutUri: orNull(logoutUri) }),
    ...(signalsUri !== undefined && { signalsUri: orNull(signalsUri) }),
    ...(skipConsent !== undefined && { skipConsent }),
    ...(accessTokens !== undefined && { accessTokens }),
    ...(deviceGrant !== undefined && { deviceGrant }),
    ...(subjectType !== undefined && { subjectType }),
  }
}

async function createApplication(
  { call }: Invocation,
  options: Options & { public?: boolean },
  name: string,
): Promise<Result> {
  const type = options.public ? 'public' : 'confidential'
  const reply = await call({
    endpoint: 'createApplication',
    body: { redirectUris: [], ...bodyOf(options), name, type },
  })
  const { id } = reply['application'] as ApplicationReply
  const secret = reply['clientSecret']
  return { json: reply, text: record({ 'client id': id, ...(secret !== undefined && { 'client secret': secret }) }) }
}

async function changeApplication(
  invocation: Invocation,
  { name, ...options }: Options & { name?: string },
  which: string,
) {
  return await patch(invocation, which, { ...(name !== undefined && { name }), ...bodyOf(options) })
}

async function patch(invocation: Invocation, which: string, body: Record<string, unknown>): Promise<Result> {
  const { id } = await find(invocation, which)
  const { application } = await invocation.call({ endpoint: 'patchApplication', params: { id }, body })
  const { name, suspendedAt } = application as ApplicationReply
  return { json: application, text: `${name} is changed${suspendedAt === null ? '' : ' and suspended'}` }
}

async function renewSecret(invocation: Invocation, _options: object, which: string): Promise<Result> {
  const { id } = await find(invocation, which)
  const json = await invocation.call({ endpoint: 'renewApplicationSecret', params: { id } })
  return { json, text: record({ 'client id': id, 'client secret': json['clientSecret'] }) }
}

async function deleteApplication(invocation: Invocation, _options: object, which: string): Promise<Result> {
  const { id, name } = await find(invocation, which)
  await invocation.confirm(`The application ${name} is deleted, and nobody can log in there with this instance.`)
  await invocation.call({ endpoint: 'deleteApplication', params: { id } })
  return { json: { id, name }, text: `Deleted ${name}` }
}

async function all({ call }: Invocation): Promise<ApplicationReply[]> {
  return (await call({ endpoint: 'listApplications' }))['applications'] as ApplicationReply[]
}

async function find(invocation: Invocation, which: string): Promise<ApplicationReply> {
  const [only, ...others] = (await all(invocation)).filter(({ id, name }) => id === which || name === which)
  if (!only) throw new CommandFailure('unknown', `No application ${which}`)
  if (others.length > 0) throw new CommandFailure('refused', `More than one is named ${which}: give its client id`)
  return only
}

function readBoolean(value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new InvalidArgumentError('Use true or false.')
  return value === 'true'
}
