import type { RegistrationEntry } from '@gatehouse/client/registration'
import { avatarColors, type AvatarColor } from '@gatehouse/contracts/constants'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { Skeleton, StatusDot } from '../../components/status.tsx'
import { useAppContext, useImageFile, useInstanceInfo, useMutation, useToast } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import { AccountStep, findRefusedField } from './account-step.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { InviteStep } from './invite-step.tsx'
import { type ProfileEntry, ProfileStep } from './profile-step.tsx'
import { useInvite } from './use-invite.ts'

const emptyAccount: RegistrationEntry = { username: '', password: '', confirmation: '' }

/** Spec: Client session behaviour, registration page. */
export function RegisterPage() {
  const { client, random } = useAppContext()
  const { info, settled } = useInstanceInfo()
  const mutation = useMutation()
  const showToast = useToast()
  const [search] = useSearchParams()
  const [step, setStep] = useState<1 | 2>(1)
  const [account, setAccount] = useState(emptyAccount)
  const invite = useInvite(search.get('invite') ?? '')

  const [profile, setProfile] = useState<ProfileEntry>(() => ({ displayName: '', avatarColor: pickColor(random) }))
  const image = useImageFile()

  const register = async () => {
    await mutation.run(async () => {
      try {
        const outcome = await client.register({
          ...account,
          displayName: profile.displayName.trim() || null,
          avatarColor: profile.avatarColor,
          avatar: image.blob,
          inviteToken: invite.token || null,
        })
        showToast(
          outcome.avatarError
            ? t('Welcome! Your picture could not be saved. Try again in your profile.')
            : t('Welcome!'),
        )
      } catch (error) {
        if (findRefusedField(error)) setStep(1)
        throw error
      }
    })
  }
  // The form waits for the answer, so that it does not change while it is filled in.
  const ready = settled && (info?.registrationOpen !== false || !invite.initialCheck)
  const isClosed = info?.registrationOpen === false
  const needsInvite = isClosed && !invite.check?.valid
  const name = info?.name ?? t('this instance')
  const subtitle =
    step === 1 ? t('Your account on {name}.', { name }) : t('This is how others see you. You can change it later.')
  return (
    <AuthFrame
      title={step === 1 ? t('Create an account') : t('Your profile')}
      subtitle={subtitle}
      above={!needsInvite && <StepIndicator current={step} />}
    >
      {!ready ? (
        <Skeleton rows={3} />
      ) : needsInvite ? (
        <InviteStep invite={invite} />
      ) : step === 1 ? (
        <AccountStep
          entry={account}
          onChange={(next) => (setAccount(next), mutation.clear())}
          mutation={mutation}
          invite={invite}
          closed={isClosed}
          onContinue={() => setStep(2)}
        />
      ) : (
        <ProfileStep
          username={account.username}
          entry={profile}
          image={image}
          mutation={mutation}
          onChange={setProfile}
          onBack={() => setStep(1)}
          onSubmit={() => void register()}
        />
      )}
    </AuthFrame>
  )
}

function pickColor(random: () => number): AvatarColor {
  return avatarColors[Math.floor(random() * avatarColors.length)] ?? 'mint'
}

function StepIndicator({ current }: { current: 1 | 2 }) {
  return (
    <p className="step-indicator">
      <StatusDot on />
      <StatusDot on={current === 2} />
      {t('Step {current} of 2', { current })}
    </p>
  )
}
