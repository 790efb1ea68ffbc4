import { type ComponentProps, lazy, Suspense } from 'react'
import { Skeleton } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import type { ProviderButtons } from './provider-buttons.tsx'

const Buttons = lazy(async () => ({ default: (await import('./provider-buttons.tsx')).ProviderButtons }))

/** Nothing without providers. `isFirst`: no form stands before. */
export function OtherWays({ isFirst, ...props }: ComponentProps<typeof ProviderButtons> & { isFirst?: boolean }) {
  if (props.providers.length === 0) return null
  return (
    <>
      {!isFirst && <p className="auth__or">{t('or')}</p>}
      <Suspense fallback={<Skeleton rows={1} />}>
        <Buttons {...props} />
      </Suspense>
    </>
  )
}
