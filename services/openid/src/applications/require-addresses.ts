import { isClaimedUri, isNativeUri, isPrivateUseUri } from '@gatehouse/contracts'
import type { Application } from '@gatehouse/domain'
import { mayReach } from '@gatehouse/outbound'
import { refuse } from '@gatehouse/runtime'
import { isNative } from '../clients/client.ts'
import type { Deps } from '../deps.ts'
import { hostsOf } from '../keys/subjects.ts'

type Uris = Pick<Application, 'type' | 'redirectUris'> & { postLogoutRedirectUris?: string[] | undefined }

/**
 * Only what a person installs may have a scheme of its own: RFC 8252, 7.1. The library takes no https on the own computer for it.
 * Throws redirect_uri_invalid.
 */
export function requireRedirectUris({ postLogoutRedirectUris = [], ...application }: Uris): void {
  const isWrong = isNative(application) ? (uri: string) => !isNativeUri(uri) && !isClaimedUri(uri) : isPrivateUseUri
  for (const [name, uris] of Object.entries({ redirectUris: application.redirectUris, postLogoutRedirectUris })) {
    const at = uris.findIndex(isWrong)
    const details = { field: `${name}.${at}`, reason: 'invalid' } as const
    if (at >= 0) throw refuse.redirect_uri_invalid({ fields: { details } })
  }
}

/** Throws receiver_uri_private: nothing would ever be told there. Names are looked up when something is told. */
export function requireReceivers({ config }: Pick<Deps, 'config'>, receivers: Receivers): void {
  for (const field of ['backchannelLogoutUri', 'signalsUri'] as const) {
    const uri = receivers[field]
    if (uri == null || mayReach(config.reach, uri)) continue
    throw refuse.receiver_uri_private({ fields: { details: { field, reason: 'invalid' } } })
  }
}
export type ReceiverUris = Pick<Application, 'backchannelLogoutUri' | 'signalsUri'>
type Receivers = { [name in keyof ReceiverUris]?: string | null | undefined }

type Pairwise = { redirectUris: readonly string[]; deviceGrant?: boolean | undefined }

/** Two hosts would be two sectors. For devices the library would fetch the application's own keys. Throws application_pairwise. */
export function requirePairwise({ redirectUris, deviceGrant }: Pairwise): void {
  if (hostsOf(redirectUris).length > 1 || deviceGrant) throw refuse.application_pairwise()
}
