import type { InstanceSettings } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useAct } from '../../hooks/use-act.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { ActProblem } from '../../parts/act-problem.tsx'
import { useAnnounce } from '../../parts/announcer.tsx'
import { Choice } from '../../parts/choice.tsx'
import { LoadProblem } from '../../parts/load-problem.tsx'
import { RowShimmer } from '../../parts/row-shimmer.tsx'
import { Switch } from '../../parts/switch.tsx'
import { GateMatrix } from './gate-matrix.tsx'
import { InstanceNameForm } from './instance-name-form.tsx'

const localGates = [
  ['open', 'Open', 'Anyone can make an account.'],
  ['closed', 'Invite only', 'New accounts need an invite link.'],
  ['environment', 'As the server is set up', 'The server’s environment decides (REGISTRATION_OPEN).'],
] as const

type LocalGate = (typeof localGates)[number][0]

const toGate = (open: boolean | null): LocalGate => (open === null ? 'environment' : open ? 'open' : 'closed')
const fromGate = { open: true, closed: false, environment: null } as const

/** The two registration gates, the peering gate and the instance's name. Spec: POST register, toggle matrix. */
export function GatesSection() {
  const load = useLoad('settings', async (signal) => {
    const [settings, info] = await Promise.all([
      client.api.admin.settings({ signal }),
      client.api.instance.info({ signal }),
    ])
    return { settings, inForce: info.registrationOpen }
  })
  const act = useAct()
  const announce = useAnnounce()
  const [wished, setWished] = useState<Partial<InstanceSettings>>({})
  const change = async (wanted: Partial<InstanceSettings>) => {
    if (act.busy) return
    // Shown at once; a refusal takes it back.
    setWished(wanted)
    await act.run(async (signal) => {
      const settings = await client.api.admin.changeSettings(wanted, { signal })
      const { registrationOpen } = await client.api.instance.info({ signal })
      load.set({ settings, inForce: settings.registrationOpen ?? registrationOpen })
      announce('Saved.')
    })
    setWished({})
  }
  if (!load.data) return load.error ? <LoadProblem load={load} /> : <RowShimmer rows={5} />
  const { settings, inForce } = load.data
  const shown = { ...settings, ...wished }
  return (
    <div className="gates">
      <section className="wall stack" aria-labelledby="gates-head">
        <h2 id="gates-head">Who may come in</h2>
        <Choice
          legend="New accounts here"
          value={toGate(shown.registrationOpen)}
          options={localGates}
          onPick={(gate) => void change({ registrationOpen: fromGate[gate] })}
        />
        <div className="rows">
          <div>
            <Switch
              name="Identities from other instances"
              hint="People whose home is elsewhere may connect. Invites never open this gate."
              on={shown.federatedRegistrationOpen}
              onChange={(on) => void change({ federatedRegistrationOpen: on })}
            />
          </div>
          <div>
            <Switch
              name="Accept new peers by themselves"
              hint="When off, an instance that wants to peer waits for your approval."
              on={shown.autoAcceptPeering}
              onChange={(on) => void change({ autoAcceptPeering: on })}
            />
          </div>
        </div>
        {(act.error || act.waitSeconds > 0) && <ActProblem act={act} />}
      </section>
      <div className="stack">
        <GateMatrix local={inForce} federated={settings.federatedRegistrationOpen} />
        <InstanceNameForm name={settings.instanceName} onSaved={(next) => load.set({ settings: next, inForce })} />
      </div>
    </div>
  )
}
