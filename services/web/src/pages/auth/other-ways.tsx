import { type ComponentProps, lazy, Suspense } from 'react'
import { Skeleton } from '../../components/status.tsx'
import type { ProviderButtons } from './provider-buttons.tsx'

const Buttons = lazy(async () => ({ default: (await import('./provider-buttons.tsx')).ProviderButtons }))

/** Nothing without providers. */
export function OtherWays(props: ComponentProps<typeof ProviderButtons>) {
  if (props.providers.length === 0) return null
  return (
    <Suspense fallback={<Skeleton rows={1} />}>
      <Buttons {...props} />
    </Suspense>
  )
}
