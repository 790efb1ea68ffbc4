import type { InstanceSettings } from '@gatehouse/client'
import { useMutation, type Work } from '../../hooks.ts'
import { t } from '../../language/language.ts'

export type OnSaved = (settings: InstanceSettings) => void

export function usePatch(onSaved: OnSaved) {
  const mutation = useMutation()
  const patch = (readBody: Work<Partial<InstanceSettings>>) =>
    mutation.run(async (signal, client) => {
      const body = await readBody(signal, client)
      onSaved(await client.call('patchSettings', { body, signal }))
    }, t('Changes saved.'))
  return { mutation, patch }
}
