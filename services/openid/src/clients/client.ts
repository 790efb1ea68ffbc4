import { isNativeUri } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { Application } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Payload, ProviderClient } from 'oidc-provider'

export const applicationColumns = Object.keys(Application.properties) as Extract<keyof Application, string>[]
const readById = batchedRead({
  name: 'openid_application',
  entity: Application,
  properties: applicationColumns,
  key: 'id',
})

const isId = (id: string): boolean => /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= 9223372036854775807n

/** Undefined: there is none, or it is suspended. */
export async function findApplication(em: EntityManager, id: string): Promise<Application | undefined> {
  if (!isId(id)) return undefined
  return (await em.findOne(Application, { id, suspendedAt: null })) ?? undefined
}

/** The same in no transaction: every request of an application begins with it. bench/NOTES.md. */
export async function readApplication(em: EntityManager, id: string): Promise<Application | undefined> {
  const application = isId(id) ? await readById(em, id) : undefined
  return application?.suspendedAt === null ? application : undefined
}

export const isNative = ({ type, redirectUris }: Pick<Application, 'type' | 'redirectUris'>): boolean =>
  type === 'public' && redirectUris.some(isNativeUri)

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** Members that the library does not know: it is told of them, and the comparison of secrets reads them. */
const ofSecret = ['secret_hash', 'previous_secret_hash', 'previous_secret_until'] as const
export const ownMetadata = ['access_tokens', 'sector', ...ofSecret] as const

export const sectorOfClient = ({ sector }: ProviderClient): string | null =>
  typeof sector === 'string' ? sector : null

/** As the library reads a client. Everything else of it is its default or configuration.ts. */
export function clientMetadata(application: Application): Payload {
  const { id, name, type, redirectUris, postLogoutRedirectUris, accessTokens, deviceGrant, ...rest } = application
  const { sector, secretHash } = rest
  const isPublic = type === 'public'
  return {
    client_id: id,
    client_name: name,
    redirect_uris: redirectUris,
    post_logout_redirect_uris: postLogoutRedirectUris,
    // A port that an application on a device cannot choose beforehand is any port. RFC 8252, 7.3.
    application_type: isNative(application) ? 'native' : 'web',
    token_endpoint_auth_method: isPublic ? 'none' : 'client_secret_basic',
    grant_types: [
      ...(redirectUris.length > 0 ? ['authorization_code'] : []),
      'refresh_token',
      ...(deviceGrant ? [deviceGrantType] : []),
    ],
    response_types: redirectUris.length > 0 ? ['code'] : [],
    access_tokens: accessTokens,
    ...(sector != null && { subject_type: 'pairwise', sector }),
    // The library demands a text. What is compared is the hash.
    ...(!isPublic && { client_secret: secretHash ?? '', secret_hash: secretHash ?? '' }),
    ...(application.previousSecretHash && {
      previous_secret_hash: application.previousSecretHash,
      previous_secret_until: application.previousSecretUntil?.getTime() ?? 0,
    }),
  }
}
