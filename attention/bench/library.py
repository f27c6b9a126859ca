"""namesake-attention from Python: the C interface (attention_c.h) on torch tensors, by ctypes."""

import ctypes

DTYPES = {"float16": 0, "bfloat16": 1, "float8_e4m3fn": 2, "float8_e5m2": 3}
MESSAGE_BYTES = 1024


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("stride_batch", ctypes.c_int64),
                ("stride_seq", ctypes.c_int64), ("stride_head", ctypes.c_int64)]


class Scale(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("stride_batch", ctypes.c_int64), ("stride_head", ctypes.c_int64)]


class Call(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("dtype", ctypes.c_int32), ("kernel", ctypes.c_int32),
                ("batch", ctypes.c_int64), ("seqlen_q", ctypes.c_int64), ("seqlen_kv", ctypes.c_int64),
                ("heads_q", ctypes.c_int64), ("heads_kv", ctypes.c_int64), ("head_dim", ctypes.c_int64),
                ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
                ("lse", ctypes.c_void_p), ("lse_stride_batch", ctypes.c_int64), ("lse_stride_head", ctypes.c_int64),
                ("cu_seqlens_q", ctypes.c_void_p), ("cu_seqlens_kv", ctypes.c_void_p),
                ("total_q", ctypes.c_int64), ("total_kv", ctypes.c_int64),
                ("seqused_q", ctypes.c_void_p), ("seqused_kv", ctypes.c_void_p),
                ("causal", ctypes.c_bool), ("softmax_scale", ctypes.c_float), ("key_splits", ctypes.c_int64),
                ("o_dtype", ctypes.c_int32), ("v_transposed", ctypes.c_bool), ("spare_workspace", ctypes.c_bool), ("promote_keys", ctypes.c_int64),
                ("q_descale", Scale), ("k_descale", Scale), ("v_descale", Scale), ("o_scale", Scale)]

FILL_DEVICE = -1
NEVER_PROMOTE = -1


def number_of(dtype):
    return DTYPES[str(dtype).removeprefix("torch.")]


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        for name in ("namesake_attention_query", "namesake_attention_forward"):
            getattr(self.functions, name).restype = ctypes.c_int

    def prepare(self, q, k, v, o, causal, workspace, key_splits=0, v_transposed=False, promote_keys=0):
        """A function of a stream that enqueues one call, and the kernel's name. q … o are [batch][length][heads][dim]; a
        transposed v has this shape too, with a stride of 1 along the length. workspace(bytes) gives a tensor of that size."""
        def tensor(t, transposed=False):
            batch, seq, head, dim = t.stride()
            return Tensor(t.data_ptr(), batch, dim if transposed else seq, head)

        fp8 = number_of(q.dtype) >= 2
        call = Call(struct_bytes=ctypes.sizeof(Call), dtype=number_of(q.dtype), o_dtype=number_of(o.dtype) if fp8 else 0,
                    v_transposed=v_transposed, promote_keys=promote_keys,
                    batch=q.shape[0], seqlen_q=q.shape[1], seqlen_kv=k.shape[1], heads_q=q.shape[2],
                    heads_kv=k.shape[2], head_dim=q.shape[3], q=tensor(q), k=tensor(k), v=tensor(v, v_transposed), o=tensor(o),
                    causal=causal, key_splits=key_splits)
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        size, kernel = ctypes.c_size_t(), ctypes.c_int32()
        if self.functions.namesake_attention_query(ctypes.byref(call), ctypes.byref(size), ctypes.byref(kernel),
                                                   message, ctypes.c_size_t(MESSAGE_BYTES)):
            raise RuntimeError(message.value.decode())
        scratch = workspace(max(size.value, 1))

        def run(stream):
            if self.functions.namesake_attention_forward(
                    ctypes.byref(call), ctypes.c_void_p(scratch.data_ptr()), size, ctypes.c_void_p(stream), message,
                    ctypes.c_size_t(MESSAGE_BYTES)):
                raise RuntimeError(message.value.decode())

        return run, {1: "reference", 2: "portable", 3: "hopper"}[kernel.value]
