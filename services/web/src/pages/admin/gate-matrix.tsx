import { Lantern } from '../../parts/lantern.tsx'

const rows = [
  { local: true, federated: true, here: 'open', elsewhere: 'allowed' },
  { local: true, federated: false, here: 'open', elsewhere: 'refused' },
  { local: false, federated: true, here: 'invite required', elsewhere: 'allowed' },
  { local: false, federated: false, here: 'invite required', elsewhere: 'refused' },
]

/** What the two gates mean together; the lit row is in force. Spec: POST register, toggle matrix. */
export function GateMatrix({ local, federated }: { local: boolean; federated: boolean }) {
  return (
    <section className="wall" aria-labelledby="matrix-head">
      <div className="wall__head">
        <h2 id="matrix-head">In force now</h2>
        <p>Logging in is never affected: existing accounts always can.</p>
      </div>
      <table className="matrix">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">In force</span>
            </th>
            <th scope="col">New accounts</th>
            <th scope="col">From elsewhere</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const lit = row.local === local && row.federated === federated
            return (
              <tr
                key={`${row.local} ${row.federated}`}
                className={lit ? 'matrix__row matrix__row--lit' : 'matrix__row'}
                aria-current={lit || undefined}
              >
                <td>
                  <Lantern lit={lit} />
                  <span className="visually-hidden">{lit ? 'in force' : ''}</span>
                </td>
                <td>{row.here}</td>
                <td>{row.elsewhere}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
