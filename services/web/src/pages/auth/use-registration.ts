import { ApiError, type PendingRegistration } from '@gatehouse/client'
import { createAvailabilityCheck, type RegistrationEntry } from '@gatehouse/client/registration'
import type { RefusalCode } from '@gatehouse/contracts'
import { avatarColors, parseUrl } from '@gatehouse/contracts/constants'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAppContext, useClient, useInstanceInfo, useMutation, useQuery, useStore, useToast } from '../../hooks.ts'
import { useImageFile } from '../../kept-state.ts'
import { t } from '../../language/language.ts'
import { useProof } from '../../proof.ts'
import { useProviders } from '../../providers.ts'
import { keepReceipt, readReceipt } from '../../registration-receipt.ts'

const emptyAccount: RegistrationEntry = { username: '', password: '', confirmation: '' }

/** What was entered is kept for the way back and for a refusal. */
// eslint-disable-next-line max-lines-per-function -- one form over two steps
export function useRegistration() {
  const { client, random } = useAppContext()
  const { info, settled } = useInstanceInfo()
  const { providers, passwords, ...ways } = useProviders()
  const mutation = useMutation()
  const showToast = useToast()
  const [search] = useSearchParams()
  const invite = useInvite(search.get('invite') ?? '')
  const [step, setStep] = useState<1 | 2>(1)
  const [account, setAccount] = useState(emptyAccount)
  const [profile, setProfile] = useState(() => {
    const avatarColor = avatarColors[Math.floor(random() * avatarColors.length)] ?? 'mint'
    return { displayName: '', avatarColor }
  })
  const image = useImageFile()
  const [reason, setReason] = useState('')
  const [receipt, setReceipt] = useState(readReceipt)
  const proof = useProof()
  const { isClosed: isClosedNow, ...checked } = useAvailability()
  const isClosed = isClosedNow ?? info?.registrationOpen === false
  const isInvited = invite.check?.valid === true
  const asksMore = info?.approvalRequired === true || info?.proofOfWork === 'registration'
  const needsApproval = info?.approvalRequired === true && !isInvited

  const register = () =>
    mutation.run(async (signal) => {
      const isAsked = info?.proofOfWork === 'registration' && !isInvited
      const send = (solved?: string) =>
        client.register({
          ...account,
          displayName: profile.displayName.trim() || null,
          avatarColor: profile.avatarColor,
          avatar: image.picture?.blob ?? null,
          crop: image.picture?.crop ?? null,
          // One that is over stands in nobody's way while everybody may register.
          inviteToken: isClosed || isInvited ? invite.token || null : null,
          reason: needsApproval ? reason.trim() || null : null,
          ...(solved && { proof: solved }),
        })
      try {
        const { avatarError, pending } = await proof.send(client, { isAsked, signal }, send)
        if (pending) return keep(pending)
        showToast(
          t(avatarError ? 'Welcome! Your avatar couldn’t be saved. You can add it in your profile.' : 'Welcome!'),
        )
      } catch (error) {
        if (findRefusedField(error)) setStep(1)
        throw error
      }
    })
  const keep = (pending: PendingRegistration) => {
    keepReceipt(pending)
    setReceipt(readReceipt() ?? pending)
  }
  return {
    instanceName: info?.name ?? t('this instance'),
    /** The form waits for the answer, so that it does not change while it is filled in. */
    isReady: settled && passwords !== null && (!isClosed || !invite.initialCheck),
    /** How the account can be made. */
    ways: { ...ways, providers, passwords },
    isClosed,
    invite,
    /** It spares an approval or a proof too. */
    usesInvite: isInvited && (isClosed || asksMore),
    step,
    setStep,
    account,
    // Several fields can change before the next render.
    editAccount: (change: Partial<RegistrationEntry>) => {
      setAccount((before) => ({ ...before, ...change }))
      mutation.clear()
    },
    profile,
    editProfile: (change: Partial<typeof profile>) => setProfile((before) => ({ ...before, ...change })),
    image,
    /** There is no account yet that an avatar could be of. */
    needsApproval,
    reason: {
      isRequired: info?.askReason === true,
      value: reason,
      onText: (text: string) => {
        setReason(text)
        mutation.clear()
      },
    },
    /** Of a registration of this browser that waits, or has waited, for approval. */
    receipt,
    forgetReceipt: () => {
      setReceipt(null)
      setStep(1)
      setAccount(emptyAccount)
    },
    proofDone: proof.done,
    mutation,
    register,
    ...checked,
  }
}

export type Registration = ReturnType<typeof useRegistration>

const accountFields = ['username', 'password', 'invite', 'reason'] as const

const refusedFields: Partial<Record<RefusalCode, (typeof accountFields)[number]>> = {
  username_required: 'username',
  username_length_invalid: 'username',
  username_characters_invalid: 'username',
  username_taken: 'username',
  federated_account_exists: 'username',
  password_required: 'password',
  invite_required: 'invite',
  invite_invalid: 'invite',
  registration_closed: 'invite',
  reason_required: 'reason',
  reason_too_long: 'reason',
}

/** The field of the first step that a refusal is about, or null. */
export function findRefusedField(error: unknown) {
  if (!(error instanceof ApiError)) return null
  const field = refusedFields[error.code as RefusalCode] ?? error.details?.field
  return accountFields.find((name) => name === field) ?? null
}

/** `isClosed`: what the last answer says of the gate, which changes while the page is open. Contract: 3, check-username. */
export function useAvailability() {
  const client = useClient()
  const [checkAvailability] = useState(() => createAvailabilityCheck(client))
  const availability = useStore(checkAvailability)
  const [isClosed, setClosed] = useState<boolean | null>(null)
  const { status } = availability
  useEffect(() => {
    if (status === 'closed') setClosed(true)
    if (status === 'available' || status === 'unavailable') setClosed(false)
  }, [status])
  return { availability, checkAvailability, isClosed }
}

function useInvite(tokenInUrl: string) {
  const [entered, setEntered] = useState(tokenInUrl)
  const token = parseInviteToken(entered)
  const query = useQuery(`invite ${token}`, async (signal, client) => {
    return token ? await client.call('checkInvite', { query: { token }, signal }) : null
  })
  return {
    token,
    /** As it was typed. */
    entered,
    /** Null without a token and while checking. */
    check: query.loading || query.error ? null : query.data,
    error: query.error,
    checking: query.loading && token !== '',
    /** True during the first check of the token in the URL. */
    initialCheck: token === tokenInUrl && query.loading && query.data === null,
    enter: (typed: string) => (typed === entered ? query.refetch() : setEntered(typed)),
  }
}

/** The token of an invite link. Any other text is a token. */
export function parseInviteToken(typed: string): string {
  const text = typed.trim()
  return parseUrl(text)?.searchParams.get('invite') ?? text
}
