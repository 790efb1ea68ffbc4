import { signToken } from '@gatehouse/auth'
import { instanceProfileNames, type InstanceProfile, type SelfReply } from '@gatehouse/contracts'
import { sanitizeUser, type PlainUser, type RevocationTime, type User } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import type { Registered } from '../operations/accounts/insert-account.ts'
import type { IssueTime } from '../operations/accounts/sign-ins.ts'
import type { HeldRegistration } from '../operations/approval/hold-registration.ts'
import { loadEmail } from '../queries/load-email.ts'
import { isRegistrationOpen, loadSettings, type PlainSettings } from '../queries/load-settings.ts'

/** A change since `issuedAt` revokes the token: the account or one of its sign-ins has that time. */
type Holder = { user: User; issuedAt: IssueTime | RevocationTime }

type TokenDeps = Pick<Deps, 'config' | 'tokenKey'>

/** A token that identity has just signed. Spec: Token payload. */
export function tokenReply({ config, tokenKey }: TokenDeps, { user, issuedAt }: Holder) {
  const subject = { userId: user.id, username: user.username }
  return { token: signToken(tokenKey, subject, { expiresIn: config.jwtExpiresIn, now: issuedAt }) }
}

/** What register and login answer. Spec: Registration, Login. */
export function credentialsReply(deps: TokenDeps, holder: Holder) {
  return { ...tokenReply(deps, holder), user: sanitizeUser(holder.user, true) }
}

/** A receipt where an admin decides. Contract: 3, Approval. */
export const registeredReply = (deps: TokenDeps, registered: Registered | HeldRegistration) =>
  'pending' in registered ? registered : credentialsReply(deps, registered)

export const statusOf = (registered: Registered | HeldRegistration) =>
  'pending' in registered ? 202 : registered.created ? 201 : 200

/** The label of a counter. `whenExisting`: the label for an account that existed before. */
export const outcomeOf = (whenExisting: string) => (registered: Registered | HeldRegistration) =>
  'pending' in registered ? 'pending' : registered.created ? 'created' : whenExisting

/** The caller's own account, as a member of this instance. Contract: 2, self view; 4, Invites of members. */
export async function selfReply(deps: Pick<Deps, 'orm' | 'config'>, user: PlainUser): Promise<SelfReply> {
  const { orm } = deps
  const memberInvites = user.homeInstance === null && !user.isDeleted ? (await loadSettings(orm.em)).memberInvites : 0
  return {
    ...sanitizeUser(user, true),
    ...(memberInvites > 0 && { memberInvites }),
    ...(await loadEmail(deps, user)),
  }
}

/** What everybody may read of the instance. Contract: 3, instance/info. */
export function instanceReply(settings: PlainSettings, { config }: Pick<Deps, 'config'>) {
  return {
    name: settings.instanceName,
    ...profileOf(settings),
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    ...approvalOf(settings),
    instanceId: settings.instanceId,
    ...(settings.proofOfWork !== 'off' && { proofOfWork: settings.proofOfWork }),
    ...chatFeatures,
    ...(config.mail && { mail: true as const }),
  }
}

const profileOf = (settings: PlainSettings) =>
  Object.fromEntries(instanceProfileNames.map((name) => [name, settings[name] ?? null])) as InstanceProfile

/** Off, nothing of it is named. Contract: 3, Approval. */
const approvalOf = ({ approvalRequired, askReason }: PlainSettings) =>
  approvalRequired && { approvalRequired: true as const, ...(askReason && { askReason: true as const }) }

/** Of chat servers. protocol.md 5.1. */
const chatFeatures = {
  directoryConfigured: false,
  directoryAvailable: false,
  directoryEnabled: false,
  supportCardEnabled: false,
} as const

/** Existing clients ask for these. Contract: 5, settings. */
const fixedSettings = {
  discoveryEnabled: false,
  gifEnabled: false,
  federationRelayEnabled: true,
  federationRelayTtlDays: 30,
  defaultAutoRotateIntervalDays: 90,
  maxUploadSizeMb: 8,
} as const

/** What admins read, with the fields that existing clients ask for. Contract: 5, settings. */
export function settingsReply(settings: PlainSettings) {
  return {
    instanceName: settings.instanceName,
    ...profileOf(settings),
    registrationOpen: settings.registrationOpen ?? null,
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    autoAcceptPeering: settings.autoAcceptPeering,
    stubUpgradesNeedProof: settings.stubUpgradesNeedProof,
    requireSecondFactorForAdmins: settings.requireSecondFactorForAdmins,
    reservedUsernames: settings.reservedUsernames,
    approvalRequired: settings.approvalRequired,
    askReason: settings.askReason,
    denialBlockHours: settings.denialBlockHours,
    proofOfWork: settings.proofOfWork,
    memberInvites: settings.memberInvites,
    openidEnabled: settings.openidEnabled,
    ...fixedSettings,
  }
}
