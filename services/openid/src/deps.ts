import type { EncryptionKey } from '@gatehouse/auth'
import type { Outbound } from '@gatehouse/outbound'
import type { Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type Provider from 'oidc-provider'
import type { OpenidConfig } from './config.ts'
import type { SigningKeyring } from '@gatehouse/openid-keys'
import type { Subjects } from './keys/subjects.ts'

/** No Redis: the rows are read with the accounts that they name. */
export type OpenidResources = Omit<Resources, 'accountStateCache'>

export type Deps = OpenidResources & {
  config: Pick<OpenidConfig, 'publicAddress' | 'reach' | 'encryptionSecret' | 'previousEncryptionSecrets'>
  timer: Timer
  outbound: Outbound
  encryptionKey: EncryptionKey
  keyring: SigningKeyring
  subjects: Subjects
  /** Loaded at the first use, and made again when the keys change. */
  providers: { current(): Promise<Provider> }
  /** Throws not_found while the setting is off. */
  requireEnabled(): Promise<void>
  /** To be called after a commit that wrote a notice. */
  notices: { notify(): void }
}
