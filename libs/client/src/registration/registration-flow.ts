import { normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api, CallOptions } from '../api/api.ts'
import type { Credentials, PendingRegistration, Registration, User } from '../api/records.ts'
import type { KeyValueStorage } from '../platform.ts'
import { tokenKey, type Session } from '../session/session.ts'

export type RegistrationInput = Credentials &
  Pick<Registration, 'displayName' | 'avatarColor' | 'inviteToken' | 'reason' | 'proof'> & {
    avatar?: Blob | null
    crop?: string | null
  }

/**
 * `avatarError`: the account exists, but the avatar was not saved. `pending`: there is no account until an admin approves it;
 * keep the receipt, and drop the avatar. Contract: 3, Approval.
 */
export type RegistrationOutcome =
  | { user: User; avatarError: Error | null; pending: null }
  | { user: null; avatarError: null; pending: PendingRegistration }

/** The route guard would leave the page too early. Spec: Client session behaviour, registration page. */
export async function completeRegistration(
  deps: {
    api: Pick<Api, 'call'>
    apiWithToken: (token: string) => Pick<Api, 'call' | 'upload'>
    storage: KeyValueStorage
    session: Pick<Session, 'initSession'>
  },
  { username, password, displayName, avatarColor, inviteToken, reason, proof, avatar, crop = null }: RegistrationInput,
  options?: CallOptions,
): Promise<RegistrationOutcome> {
  const body: Registration = {
    username: normalizeUsername(username),
    password,
    ...(displayName && { displayName }),
    ...(avatarColor && { avatarColor }),
    ...(inviteToken && { inviteToken }),
    ...(reason && { reason }),
    ...(proof && { proof }),
  }
  const reply = await deps.api.call('register', { body, ...options })
  if ('pending' in reply) return { user: null, avatarError: null, pending: reply }
  const { token, user } = reply
  deps.storage.setItem(tokenKey, token)
  const api = deps.apiWithToken(token)
  const saved = avatar ? await saveAvatar(api, user, { avatar, crop }) : { user, avatarError: null }
  deps.session.initSession(token, saved.user, { password })
  return { ...saved, pending: null }
}

type Avatar = { avatar: Blob; crop: string | null }

async function saveAvatar(
  api: Pick<Api, 'call' | 'upload'>,
  user: User,
  { avatar, crop }: Avatar,
): Promise<{ user: User; avatarError: Error | null }> {
  try {
    const { filename } = await api.upload(avatar, { crop })
    return { user: await api.call('patchSelf', { body: { avatar: filename } }), avatarError: null }
  } catch (error) {
    return { user, avatarError: error as Error }
  }
}
