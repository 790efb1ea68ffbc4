import { ApiError } from '@gatehouse/client'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useInstanceInfo } from '../../hooks/use-instance-info.ts'
import { useAnnounce } from '../../parts/announcer.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { AccountStep, type AccountEntry } from './account-step.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { ProfileStep, type ProfileEntry } from './profile-step.tsx'
import { Steps } from './steps.tsx'
import { useInvite } from './use-invite.ts'

const emptyAccount: AccountEntry = { username: '', password: '', confirmation: '' }

/** Registers in two steps: the account, then its looks. Spec: Client session behaviour, registration page. */
export function RegisterPage() {
  const { info, settled } = useInstanceInfo()
  const act = useAct()
  const announce = useAnnounce()
  const [search] = useSearchParams()
  const [step, setStep] = useState<1 | 2>(1)
  const [account, setAccount] = useState(emptyAccount)
  const invite = useInvite(search.get('invite') ?? '')

  const finish = async (profile: ProfileEntry) => {
    await act.run(async () => {
      try {
        const inviteToken = invite.token || null
        const outcome = await client.register({ ...account, ...profile, inviteToken })
        announce(
          outcome.avatarError ? 'Welcome. Your picture could not be saved; try again in your profile.' : 'Welcome.',
        )
      } catch (error) {
        if (belongsToAccount(error)) setStep(1)
        throw error
      }
    })
  }
  // The form waits for what it must ask for (an invite or none), so that it never changes under the hands.
  const known = settled && (info?.registrationOpen !== false || !invite.unasked)
  const name = info?.name ?? 'this instance'
  const lead = step === 1 ? `Your home on ${name}.` : 'How others see you. All of it can be changed later.'
  return (
    <AuthFrame title={step === 1 ? 'Create an account' : 'Make it yours'} lead={lead} above={<Steps now={step} />}>
      {!known ? (
        <RowShimmer rows={3} />
      ) : step === 1 ? (
        <AccountStep
          entry={account}
          onChange={(next) => (setAccount(next), act.clear())}
          act={act}
          invite={invite}
          closed={info?.registrationOpen === false}
          onDone={() => setStep(2)}
        />
      ) : (
        <ProfileStep
          username={account.username}
          act={act}
          onBack={() => setStep(1)}
          onDone={(profile) => void finish(profile)}
        />
      )}
    </AuthFrame>
  )
}

/** Refusals of the name, the password or the invite are answered on the first step. */
function belongsToAccount(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return (
    error.status === 409 || error.status === 403 || (error.status === 400 && /username|password/i.test(error.message))
  )
}
