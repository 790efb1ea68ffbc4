import type { ReactNode } from 'react'
import { AvatarPicker, ColorPicker, DisplayNameField } from '../../components/appearance-fields.tsx'
import { Button } from '../../components/button.tsx'
import { formatError, MutationError, QueryError, SubmitButton } from '../../components/error-message.tsx'
import { Field, Form, useText } from '../../components/field.tsx'
import { Notice, Skeleton, StatusDot } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { AccountStep, inviteProblems, LogInInstead } from './account-step.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { OtherWays } from './other-ways.tsx'
import { ProofProgress } from './proof-progress.tsx'
import { type Registration, useRegistration } from './use-registration.ts'
import { WaitingStep } from './waiting-step.tsx'

/**
 * A receipt in this browser shows the registration that waits, instead of the form.
 * Spec: Client session behaviour, registration page.
 */
export function RegisterPage() {
  const registration = useRegistration()
  const { receipt, forgetReceipt } = registration
  if (receipt) return <WaitingStep key={receipt.receipt} receipt={receipt} onOver={forgetReceipt} />
  return <Register {...registration} />
}

function Register(registration: Registration) {
  const { instanceName: name, isReady, isClosed, invite, step, ways } = registration
  const needsInvite = isClosed && !invite.check?.valid
  const subtitle =
    step === 1
      ? t('Create your account on {name}.', { name })
      : t('This is how other people see you. You can change it anytime.')
  const others = (
    <OtherWays
      providers={ways.providers}
      text="Continue with {provider}"
      entry={{ invite: invite.token, username: registration.account.username }}
      isFirst={!ways.passwords && !needsInvite}
    />
  )
  return (
    <AuthFrame
      title={step === 1 ? t('Create an account') : t('Your profile')}
      subtitle={subtitle}
      above={
        !needsInvite &&
        ways.passwords && (
          <p className="step-indicator">
            <StatusDot on />
            <StatusDot on={step === 2} />
            {t('Step {current} of 2', { current: step })}
          </p>
        )
      }
    >
      <QueryError query={ways} />
      {!isReady ? (
        ways.loading && <Skeleton rows={3} />
      ) : needsInvite ? (
        <InviteStep invite={invite}>{others}</InviteStep>
      ) : !ways.passwords ? (
        <>
          {others}
          <LogInInstead />
        </>
      ) : step === 1 ? (
        <AccountStep {...registration}>{others}</AccountStep>
      ) : (
        <ProfileStep {...registration} />
      )}
    </AuthFrame>
  )
}

function InviteStep({ invite, children }: Pick<Registration, 'invite'> & { children: ReactNode }) {
  const text = useText(invite.token)
  const { check, entered } = invite
  const refusal = check?.valid === false && text.value === entered ? t(inviteProblems[check.reason]) : null
  return (
    <Form className="stack stack--tight" onSubmit={() => invite.enter(text.value)}>
      <Notice>
        <p>
          <strong>{t('You need an invite to create an account.')}</strong>{' '}
          {t('Ask an admin of this instance for an invite link.')}
        </p>
      </Notice>
      <Field
        label={t('Invite link')}
        name="invite"
        verbatim
        {...text}
        problem={text.value.trim() ? null : t('Enter an invite link to continue.')}
        error={refusal ?? (invite.error && formatError(invite.error))}
        hint={t('Paste the whole link, or just the code at the end.')}
      />
      <Button type="submit" variant="primary" wide busy={invite.checking} text="Continue" />
      {children}
      <LogInInstead />
    </Form>
  )
}

function ProfileStep({ account, profile, editProfile, image, mutation, setStep, register, ...rest }: Registration) {
  const { displayName, avatarColor } = profile
  const { needsApproval, proofDone } = rest
  const { username } = account
  return (
    <Form className="stack" onSubmit={register}>
      {!needsApproval && <AvatarPicker name={displayName.trim() || username} color={avatarColor} {...image} />}
      <ColorPicker value={avatarColor} onPick={(color) => editProfile({ avatarColor: color })} />
      <DisplayNameField value={displayName} username={username} onText={(text) => editProfile({ displayName: text })} />
      <MutationError mutation={mutation} />
      <ProofProgress done={proofDone} />
      <div className="button-pair">
        <Button disabled={mutation.busy} text="Back" onClick={() => setStep(1)} />
        <SubmitButton mutation={mutation} text={needsApproval ? 'Send registration' : 'Create account'} />
      </div>
    </Form>
  )
}
