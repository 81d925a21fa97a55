import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

/** Parts of a button that asks before it does something. */
export interface ConfirmProps {
  /** Text of the button, and of the button that confirms. */
  readonly action: string
  readonly question: string
  /** What happens then. */
  readonly children: ComponentChildren
  /** Text of the button that does nothing. */
  readonly keep: string
  readonly isDanger?: boolean
  readonly isDisabled?: boolean
  readonly onConfirm: () => void
  /** Called when the dialog closes, also without an answer. */
  readonly onClose?: () => void
}

/** A button that opens a dialog, which asks whether to go on. */
export function Confirm(props: ConfirmProps) {
  const { action, question, children, keep, isDanger = false, isDisabled = false } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const title = useId()
  const confirm = (): void => {
    dialog.current?.close()
    props.onConfirm()
  }
  const look = isDanger ? 'danger' : ''
  return (
    <>
      <button
        type="button"
        class={look}
        disabled={isDisabled}
        onClick={() => dialog.current?.showModal()}
      >
        {action}
      </button>
      <dialog ref={dialog} aria-labelledby={title} onClose={props.onClose}>
        <h2 id={title}>{question}</h2>
        {children}
        <div class="actions">
          <button type="button" class={look} onClick={confirm}>
            {action}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            {keep}
          </button>
        </div>
      </dialog>
    </>
  )
}
