import { client } from '../../client.ts'
import { lastFarewell } from '../../farewell.ts'
import { useStore } from '../../hooks/use-store.ts'
import { IdentityResults } from '../../parts/identity-results.tsx'
import { Notice } from '../../parts/notice.tsx'

/** Says why there is no session any more, and what a deletion left behind elsewhere. */
export function SessionEnded() {
  const { ended } = useStore(client.session)
  const farewell = lastFarewell()
  if (farewell) {
    return (
      <div className="session-ended">
        <Notice tone="good">
          <p>Your account was deleted.</p>
          <IdentityResults results={farewell} />
        </Notice>
      </div>
    )
  }
  if (!ended || ended.reason === 'logged_out') return null
  return (
    <div className="session-ended">
      <Notice tone="warning">
        <p>{ended.message}</p>
      </Notice>
    </div>
  )
}
