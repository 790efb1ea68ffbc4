import { type ComponentProps, Suspense } from 'react'
import { lazyPart } from '../../components/lazy-part.tsx'
import { Skeleton } from '../../components/status.tsx'
import type { ProviderButtons } from './provider-buttons.tsx'

const Buttons = lazyPart(() => import('./provider-buttons.tsx').then((part) => part.ProviderButtons))

/** Nothing without providers. */
export function OtherWays(props: ComponentProps<typeof ProviderButtons>) {
  if (props.providers.length === 0) return null
  return (
    <Suspense fallback={<Skeleton rows={1} />}>
      <Buttons {...props} />
    </Suspense>
  )
}
