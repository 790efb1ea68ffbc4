import { ApiError, type User, type WaitingDevice } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { useState } from 'react'
import { Link, useSearch } from 'wouter'
import { MutationError, SubmitButton } from '../../components/error-message.tsx'
import { Field, Form, useText } from '../../components/field.tsx'
import { Notice } from '../../components/status.tsx'
import { useMutation } from '../../hooks.ts'
import { t, translateRefusal } from '../../language/language.ts'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { AskedAccount, AskedScopes, type Decision, DecisionForm } from './parts.tsx'

type Step =
  | { name: 'code' }
  | { name: 'decision'; device: WaitingDevice; userCode: string }
  | { name: 'done'; decision: Decision; application: string }

/** A device without a keyboard or a browser waits with a code. RFC 8628. */
export function DevicePage({ user }: { user: User }) {
  const [step, setStep] = useState<Step>({ name: 'code' })
  const goBack = () => setStep({ name: 'code' })
  if (step.name === 'done') return <DonePage {...step} />
  if (step.name === 'decision') return <DecisionStep {...step} user={user} setStep={setStep} onBack={goBack} />
  return <CodeStep setStep={setStep} />
}

type StepProps = { setStep: (step: Step) => void }

function CodeStep({ setStep }: StepProps) {
  const mutation = useMutation()
  const offered = new URLSearchParams(useSearch()).get('user_code') ?? ''
  const code = useText(offered.slice(0, 64), mutation)
  const { error } = mutation
  const isOff = error instanceof ApiError && error.code === 'not_found'
  const isUnknown = error instanceof ApiError && error.code === 'device_code_unknown'
  const ask = async () => {
    const userCode = code.value.trim()
    const device = await mutation.run((signal, client) => client.call('readDeviceCode', { body: { userCode }, signal }))
    if (device) setStep({ name: 'decision', device: device.reply, userCode })
  }
  return (
    <AuthFrame title={t('Connect a device')} subtitle={t('Enter the code that your device shows.')}>
      <Form className="stack stack--tight" onSubmit={ask}>
        <Field
          verbatim
          label={t('Code')}
          name="user-code"
          className="input user-code"
          {...code}
          problem={code.value.trim() ? null : t('Enter the code.')}
          error={isUnknown ? translateRefusal(error) : null}
          hint={t('For example WDJB-MJHT.')}
        />
        {isOff && <Notice tone="error" text="This instance doesn’t log people in to applications right now." />}
        <MutationError mutation={isUnknown || isOff ? { ...mutation, error: null } : mutation} />
        <SubmitButton mutation={mutation} text="Continue" wide />
      </Form>
    </AuthFrame>
  )
}

type DecisionStepProps = StepProps & { device: WaitingDevice; userCode: string; user: User; onBack: () => void }

function DecisionStep({ device, userCode, user, setStep, onBack }: DecisionStepProps) {
  const mutation = useMutation()
  const { application, scopes, uid } = device
  const { name } = application
  const decide = async (decision: Decision) => {
    const body = { uid, decision }
    if (await mutation.run((_, client) => client.call('decideDeviceCode', { body })))
      setStep({ name: 'done', decision, application: name })
  }
  return (
    <AuthFrame title={t('Log in to {name}', { name })} subtitle={t('A device wants to use your account.')}>
      <div className="stack">
        <Notice
          tone="warning"
          text="Allow this only if you started it yourself and the device in front of you shows the code {code}. Don’t allow it if someone sent you the code."
          values={{ code: userCode.toUpperCase() }}
        />
        <AskedAccount user={user} />
        <AskedScopes scopes={scopes} title={t('If you allow it, {name} can:', { name })} />
        <DecisionForm mutation={mutation} decide={decide} />
        <p className="auth__alternative">
          <Link href="/device" onClick={onBack}>
            {t('Enter another code')}
          </Link>
        </p>
      </div>
    </AuthFrame>
  )
}

function DonePage({ decision, application: name }: { decision: Decision; application: string }) {
  const isAllowed = decision === 'allow'
  return (
    <AuthFrame title={isAllowed ? t('Device connected') : t('Device not connected')}>
      {isAllowed ? (
        <Notice
          tone="good"
          text="Your device is logged in to {name}. You can close this page and go back to the device."
          values={{ name }}
        />
      ) : (
        <Notice text="You denied {name} the access." values={{ name }} />
      )}
      <p className="auth__alternative">
        <Link href={routes.home}>{t('Go to the home page')}</Link>
      </p>
    </AuthFrame>
  )
}
