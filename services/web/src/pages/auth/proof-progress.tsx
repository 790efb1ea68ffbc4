import '../../styles/registering.css'
import { t } from '../../language/language.ts'

/** Quiet: most never see it. Takes its space always, so that the layout does not shift. */
export function ProofProgress({ done }: { done: number | null }) {
  return (
    <div className="proof" role="status">
      {done !== null && (
        <>
          <progress value={done} aria-label={t('Checking that you’re not a robot…')} />
          <span className="small muted">{t('Checking that you’re not a robot…')}</span>
        </>
      )}
    </div>
  )
}
