import { StatusDot } from '../../components/badge.tsx'
import { t } from '../../language/language.ts'

const rows = [
  { local: true, federated: true, newAccounts: 'open', fromOthers: 'allowed' },
  { local: true, federated: false, newAccounts: 'open', fromOthers: 'not allowed' },
  { local: false, federated: true, newAccounts: 'invite only', fromOthers: 'allowed' },
  { local: false, federated: false, newAccounts: 'invite only', fromOthers: 'not allowed' },
] as const

/** The effect of the two registration settings; the current row is marked. Spec: POST register, toggle matrix. */
export function RegistrationRules({ local, federated }: { local: boolean; federated: boolean }) {
  return (
    <section className="card" aria-labelledby="rules-head">
      <div className="card__header">
        <h2 id="rules-head">{t('Current rules')}</h2>
        <p>{t('Existing accounts can always log in.')}</p>
      </div>
      <table className="rules-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">{t('Current')}</span>
            </th>
            <th scope="col">{t('New accounts')}</th>
            <th scope="col">{t('From other instances')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const current = row.local === local && row.federated === federated
            return (
              <tr
                key={`${row.local} ${row.federated}`}
                className={current ? 'rules-table__row rules-table__row--current' : 'rules-table__row'}
                aria-current={current || undefined}
              >
                <td>
                  <StatusDot on={current} />
                  <span className="visually-hidden">{current ? t('Current') : ''}</span>
                </td>
                <td>{t(row.newAccounts)}</td>
                <td>{t(row.fromOthers)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
