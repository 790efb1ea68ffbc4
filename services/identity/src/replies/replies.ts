import { signToken } from '@gatehouse/auth'
import { instanceProfileNames, type InstanceProfile } from '@gatehouse/contracts'
import { sanitizeUser, type LinkedIdentity, type RevocationTime, type User } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import type { IssueTime } from '../operations/credentials/sign-ins.ts'
import { isRegistrationOpen, type PlainSettings } from '../queries/load-settings.ts'

/** A change since `issuedAt` revokes the token: the account or one of its sign-ins has that time. */
type Holder = { user: User; issuedAt: IssueTime | RevocationTime }

/** Spec: Token payload. */
export function tokenReply({ config, tokenKey }: Deps, { user, issuedAt }: Holder) {
  const subject = { userId: user.id, username: user.username }
  return { token: signToken(tokenKey, subject, { expiresIn: config.jwtExpiresIn, now: issuedAt }) }
}

/** Spec: register, login. */
export function credentialsReply(deps: Deps, holder: Holder) {
  return { ...tokenReply(deps, holder), user: sanitizeUser(holder.user, true) }
}

/** Contract: 3, Identity providers. */
export function identityReply({ id, provider, name, linkedAt, lastUsedAt }: LinkedIdentity) {
  return { id, provider, name: name ?? null, linkedAt: linkedAt.getTime(), lastUsedAt: lastUsedAt?.getTime() ?? null }
}

/** Contract: 3. */
export function instanceReply(settings: PlainSettings, { config }: Deps) {
  return {
    name: settings.instanceName,
    ...profileOf(settings),
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    instanceId: settings.instanceId,
    ...chatFeatures,
    ...(config.mail && { mail: true as const }),
  }
}

const profileOf = (settings: PlainSettings) =>
  Object.fromEntries(instanceProfileNames.map((name) => [name, settings[name] ?? null])) as InstanceProfile

/** Of chat servers. protocol.md 5.1. */
const chatFeatures = {
  directoryConfigured: false,
  directoryAvailable: false,
  directoryEnabled: false,
  supportCardEnabled: false,
} as const

/** Existing clients ask for these. Contract: 5. */
const fixedSettings = {
  discoveryEnabled: false,
  gifEnabled: false,
  federationRelayEnabled: true,
  federationRelayTtlDays: 30,
  defaultAutoRotateIntervalDays: 90,
  maxUploadSizeMb: 8,
} as const

/** Contract: 5. */
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
    ...fixedSettings,
  }
}
