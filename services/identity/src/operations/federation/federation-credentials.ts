import { credentialContext, decrypt, encrypt } from '@gatehouse/auth'
import { limits, parseOrigin } from '@gatehouse/contracts'
import type { federationCredentialBody, federationCredentialReply } from '@gatehouse/contracts'
import { FederationCredential } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeSelf, type OwnAct } from '../change-account.ts'

/** Made once for each user and origin: the lock of the account lets one writer be the first. Contract: 3, federation-credential. */
export async function issueFederationCredential(
  deps: OperationContext & Pick<Deps, 'config' | 'encryptionKey'>,
  { caller, origin: address, markProvisioned = false }: z.infer<typeof federationCredentialBody> & OwnAct,
): Promise<z.infer<typeof federationCredentialReply>> {
  const origin = requireRemote(address, deps.config.publicAddress.origin)
  const now = new Date(deps.clock.now())
  return await changeSelf(deps, caller, async (user, em) => {
    if (!user.isLocal()) throw refuse.federation_credential_home_only()
    const key = { userId: user.id, origin }
    const context = credentialContext(key)
    const stored = await em.findOne(FederationCredential, key)
    if (stored) {
      if (markProvisioned) stored.provisionedAt ??= now
      const secret = decrypt(deps.encryptionKey, stored.secret, context)
      return { origin, secret, provisioned: stored.provisionedAt instanceof Date }
    }
    const credentialCount = await em.count(FederationCredential, { userId: user.id })
    if (credentialCount >= limits.federationCredentialsMax) throw refuse.too_many_federation_credentials()
    const secret = randomToken(deps.random, policy.federationCredentialBytes)
    const provisionedAt = markProvisioned ? now : null
    const sealed = encrypt(deps.encryptionKey, secret, context)
    await em.insert(FederationCredential, { ...key, secret: sealed, createdAt: now, provisionedAt })
    return { origin, secret, provisioned: markProvisioned }
  })
}

/** Throws origin_invalid, federation_credential_remote_only. protocol.md 4.7. */
function requireRemote(address: string, ownOrigin: string): string {
  const origin = parseOrigin(address)
  if (origin === null || !/^[a-z0-9.-]{1,253}$/.test(new URL(origin).hostname)) throw refuse.origin_invalid()
  if (new URL(origin).host === new URL(ownOrigin).host) throw refuse.federation_credential_remote_only()
  return origin
}
