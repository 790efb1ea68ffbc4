import type { Application } from '@gatehouse/client'
import { isApplicationUri, isPrivateUseUri, limits } from '@gatehouse/contracts/constants'

/** What the form holds: addresses are lines of a text. */
export type ApplicationEntry = Pick<
  Application,
  'name' | 'type' | 'skipConsent' | 'accessTokens' | 'deviceGrant' | 'subjectType'
> & {
  [field in AddressField]: string
}
export type AddressField = 'redirectUris' | 'postLogoutRedirectUris' | 'backchannelLogoutUri' | 'signalsUri'

const newEntry: ApplicationEntry = {
  name: '',
  type: 'confidential',
  redirectUris: '',
  postLogoutRedirectUris: '',
  backchannelLogoutUri: '',
  signalsUri: '',
  skipConsent: false,
  accessTokens: 'opaque',
  deviceGrant: false,
  subjectType: 'public',
}

export function entryOf(application: Application | null): ApplicationEntry {
  if (!application) return newEntry
  const { name, type, skipConsent, accessTokens, deviceGrant, subjectType } = application
  return {
    name,
    type,
    skipConsent,
    accessTokens,
    deviceGrant,
    subjectType,
    redirectUris: application.redirectUris.join('\n'),
    postLogoutRedirectUris: application.postLogoutRedirectUris.join('\n'),
    backchannelLogoutUri: application.backchannelLogoutUri ?? '',
    signalsUri: application.signalsUri ?? '',
  }
}

export const splitAddresses = (text: string): string[] => text.split(/\s+/).filter((address) => address !== '')

/** Of a new one. */
export function newBodyOf(entry: ApplicationEntry) {
  const { name, type, skipConsent, accessTokens, deviceGrant, subjectType } = entry
  return {
    name: name.trim(),
    type,
    skipConsent,
    accessTokens,
    deviceGrant,
    subjectType,
    redirectUris: splitAddresses(entry.redirectUris),
    postLogoutRedirectUris: splitAddresses(entry.postLogoutRedirectUris),
    backchannelLogoutUri: entry.backchannelLogoutUri.trim() || null,
    signalsUri: entry.signalsUri.trim() || null,
  }
}

type ChosenOnce = 'type' | 'subjectType'

/** Of what was changed. */
export function changesOf(changed: Partial<ApplicationEntry>): Partial<Omit<ReturnType<typeof newBodyOf>, ChosenOnce>> {
  const { type: _, subjectType: __, ...body } = newBodyOf({ ...newEntry, ...changed })
  return Object.fromEntries(Object.entries(body).filter(([name]) => name in changed))
}

/** `address`: the one that is in the way. */
export type AddressProblem = { kind: 'invalid' | 'twice'; address: string } | { kind: 'too_many' } | null

/** Only an application on a device of its own, which is public, returns to a scheme of its own. RFC 8252. */
export function findAddressProblem(field: AddressField, { type, ...texts }: ApplicationEntry): AddressProblem {
  const addresses = splitAddresses(texts[field])
  const mayBePrivate = field === 'redirectUris' && type === 'public'
  const isAllowed = (address: string) => isApplicationUri(address) || (mayBePrivate && isPrivateUseUri(address))
  const wrong = addresses.find((address) => !isAllowed(address))
  if (wrong !== undefined) return { kind: 'invalid', address: wrong }
  const repeated = addresses.find((address, index) => addresses.indexOf(address) < index)
  if (repeated !== undefined) return { kind: 'twice', address: repeated }
  const isOne = field === 'backchannelLogoutUri' || field === 'signalsUri'
  return addresses.length > (isOne ? 1 : limits.applicationUrisMax) ? { kind: 'too_many' } : null
}

/** The field that the server names: `redirectUris.0`. */
export const refusedFieldOf = (details: unknown): string => {
  const { field } = (details ?? {}) as { field?: unknown }
  return typeof field === 'string' ? field.replace(/\..*/, '') : ''
}
