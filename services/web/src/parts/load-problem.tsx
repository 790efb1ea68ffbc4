import type { Load } from '../hooks/use-load.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'
import { sayProblem } from './say-problem.ts'

/** Says that something could not be loaded, with the way to try again. */
export function LoadProblem({ load }: { load: Pick<Load<unknown>, 'error' | 'reload'> }) {
  if (!load.error) return null
  return (
    <Notice tone="error">
      <p>{sayProblem(load.error)}</p>
      <Button size="small" icon="refresh" onClick={load.reload}>
        Try again
      </Button>
    </Notice>
  )
}
